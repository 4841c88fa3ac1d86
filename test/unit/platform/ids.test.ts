import { expect, test } from 'vitest'
import { isId, newId } from '../../../src/platform/ids.ts'

test('an identifier is its prefix and at least 80 random bits in [0-9A-Za-z]', () => {
  const id = newId('dep_', Date.now())
  expect(id).toMatch(/^dep_[0-9A-Za-z]{22}$/)
  // 14 characters of 62 hold 83 bits.
  const tails = new Set(Array.from({ length: 100_000 }, () => newId('dep_', 5).slice(-14)))
  expect(tails.size).toBe(100_000)
})

// Lists are shown newest first by sorting identifiers in byte order.
test('identifiers sort by their time in byte order', () => {
  const times = [0, 1, 61, 62, 3843, 1_700_000_000_000, 1_700_000_000_001, 4_000_000_000_000]
  const ids = times.map((time) => newId('mod_', time))
  expect([...ids].sort((a, b) => (a < b ? -1 : 1))).toEqual(ids)
})

test.each(['', 'dep_', 'mod_abc', 'dep_a\0', "dep_'", 'dep_é', `dep_${'a'.repeat(100)}`])(
  '%j is not looked up as a deployment',
  (text) => {
    expect(isId(text, 'dep_') && text !== 'dep_').toBe(false)
  },
)
