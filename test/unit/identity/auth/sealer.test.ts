import { expect, test } from 'vitest'
import { TextSealer } from '../../../../src/identity/auth/oidc/sealer.ts'

const SECRET = 'the secret of this test, long enough'
const FORMER = 'the secret before it, long enough too'
const TEXT = '{"refreshToken":"ä secret"}'

test('a sealed text opens for its use, and shows nothing of itself', () => {
  const sealer = new TextSealer(SECRET, null)
  const sealed = sealer.seal(TEXT, 'use')
  expect(sealed).toMatch(/^[\w-]+$/)
  expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('secret')
  expect(sealer.seal(TEXT, 'use')).not.toBe(sealed)
  expect(sealer.open(sealed, 'use')).toBe(TEXT)
})

test('an altered text, another use and another secret open nothing', () => {
  const sealer = new TextSealer(SECRET, null)
  const sealed = sealer.seal(TEXT, 'use')
  expect(sealer.open(sealed, 'another use')).toBeNull()
  expect(new TextSealer(FORMER, null).open(sealed, 'use')).toBeNull()
  const bytes = Buffer.from(sealed, 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const altered = Buffer.from(bytes)
    altered[at] = (altered[at] ?? 0) ^ 1
    expect(sealer.open(altered.toString('base64url'), 'use'), `byte ${at}`).toBeNull()
  }
  for (const text of ['', 'A', 'A'.repeat(42), '{}']) expect(sealer.open(text, 'use')).toBeNull()
})

test('after a rotation texts of the former secret open, and new ones need the new secret', () => {
  const rotated = new TextSealer(SECRET, FORMER)
  expect(rotated.open(new TextSealer(FORMER, null).seal(TEXT, 'use'), 'use')).toBe(TEXT)
  expect(new TextSealer(SECRET, null).open(rotated.seal(TEXT, 'use'), 'use')).toBe(TEXT)
})
