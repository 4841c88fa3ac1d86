import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { SeenKeys } from '../../../../src/http/idempotency/score-claims/seen-keys.ts'

const DAY_MS = 24 * 60 * 60 * 1000

function hashOf(n: number): Uint8Array {
  return createHash('sha256').update(`${n}`).digest().subarray(0, 16)
}

// A key that is forgotten is executed a second time.
test('no key of 100,000 is forgotten within a day, and few others look like them', () => {
  const seen = new SeenKeys(0)
  const keys = 100_000
  for (let n = 0; n < keys; n++) seen.add(hashOf(n), (n / keys) * DAY_MS)
  const countSeen = (first: number) => {
    let count = 0
    for (let n = first; n < first + keys; n++) if (seen.has(hashOf(n))) count++
    return count
  }
  expect(countSeen(0)).toBe(keys)
  expect(countSeen(keys) / keys).toBeLessThan(0.01)
})

test('a key is known for a day after it was last seen, and not forever', () => {
  const seen = new SeenKeys(0)
  const key = hashOf(1)
  seen.add(key, 25 * 60 * 60 * 1000 - 1)
  for (let hour = 25; hour < 49; hour++) {
    seen.add(hashOf(hour), hour * 60 * 60 * 1000)
    expect(seen.has(key)).toBe(true)
  }
  for (let hour = 49; hour <= 76; hour++) seen.add(hashOf(hour), hour * 60 * 60 * 1000)
  expect(seen.has(key)).toBe(false)
})
