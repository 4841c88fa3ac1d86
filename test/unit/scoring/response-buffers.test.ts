import { expect, test } from 'vitest'
import { ResponseBuffers } from '../../../src/scoring/response.ts'

const KIB = 1024
const MIB = 1024 * KIB

// Two answers in one buffer would show one lender the other's scores.
test('a buffer that is lent is not lent again before it was given back', () => {
  const buffers = new ResponseBuffers()
  const lent = Array.from({ length: 8 }, () => buffers.lend(MIB))
  expect(new Set(lent.map(({ buffer }) => buffer)).size).toBe(8)

  buffers.giveBack(lent[3] as Buffer)
  expect(buffers.lend(MIB)).toBe(lent[3])
  expect(lent).not.toContain(buffers.lend(MIB))
})

test.each([0, 1, 16 * KIB, 16 * KIB + 1, MIB, MIB + 1, 3 * MIB])(
  'memory for %d bytes takes them, and is hardly larger, also when others are idle',
  (bytes) => {
    const buffers = new ResponseBuffers()
    for (const idle of [16 * KIB, 64 * KIB, MIB, 4 * MIB]) buffers.giveBack(buffers.lend(idle))
    const { length } = buffers.lend(bytes)
    expect(length).toBeGreaterThanOrEqual(bytes)
    expect(length).toBeLessThan(Math.max(16 * KIB + 1, 2 * bytes))
  },
)

/** How many of so many idle buffers are lent again. */
function readKept(count: number, bytes: number): number {
  const buffers = new ResponseBuffers()
  const lent = Array.from({ length: count }, () => buffers.lend(bytes))
  for (const buffer of lent) buffers.giveBack(buffer)
  return lent.filter(() => lent.includes(buffers.lend(bytes))).length
}

// A burst must not hold its memory for good.
test('of many idle buffers but a few are kept', () => {
  expect(readKept(100, 16 * KIB)).toBe(64)
  expect(readKept(100, MIB)).toBe(16)
  expect(readKept(100, 8 * MIB)).toBe(0)
})

// A thread whose last batch was large held its memory until the next one.
test('a buffer that is too large to keep is freed at once', () => {
  const buffers = new ResponseBuffers()
  const large = buffers.lend(8 * MIB)
  buffers.giveBack(large)
  expect(large).toHaveLength(0)
})

test('what is idle for longest makes room for what is used', () => {
  const buffers = new ResponseBuffers()
  const [old, recent] = [16 * KIB, MIB].map((bytes) =>
    Array.from({ length: 16 }, () => buffers.lend(bytes)),
  )
  for (const buffer of [...(old ?? []), ...(recent ?? [])]) buffers.giveBack(buffer)
  expect(recent).toContain(buffers.lend(MIB))
  expect(old).not.toContain(buffers.lend(16 * KIB))
})
