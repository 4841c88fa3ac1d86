import { expect, test } from 'vitest'
import {
  hashKey,
  isKeySecret,
  newKeySecret,
  readKeyPrefix,
} from '../../../../src/identity/keys/secret.ts'

test.each([
  ['production', /^sk_live_[0-9A-Za-z]{38}$/],
  ['staging', /^sk_test_[0-9A-Za-z]{38}$/],
  [null, /^sk_live_[0-9A-Za-z]{38}$/],
] as const)('a key for %s has its form and passes its own checksum', (environment, form) => {
  const keySecret = newKeySecret(environment)
  expect(keySecret).toMatch(form)
  expect(isKeySecret(keySecret)).toBe(true)
  expect(readKeyPrefix(keySecret)).toBe(keySecret.slice(0, 12))
})

// A mistyped key must not cost a look into the database.
test('changing any one character is noticed without a database', () => {
  const keySecret = newKeySecret('production')
  for (let index = 0; index < keySecret.length; index++) {
    const other = keySecret[index] === 'a' ? 'b' : 'a'
    const changed = keySecret.slice(0, index) + other + keySecret.slice(index + 1)
    expect(isKeySecret(changed), `character ${index}`).toBe(false)
  }
})

test.each(['', 'sk_live_', 'sk_live_é', `${newKeySecret(null)}x`, ` ${newKeySecret(null)}`])(
  '%j is not a key',
  (text) => {
    expect(isKeySecret(text)).toBe(false)
  },
)

test('keys are drawn anew each time, and stored as SHA-256', () => {
  const secrets = new Set(Array.from({ length: 10_000 }, () => newKeySecret(null)))
  expect(secrets.size).toBe(10_000)
  // The digest of the empty text, from FIPS 180-4 test data.
  expect(hashKey('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
})
