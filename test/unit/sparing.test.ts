import { expect, test } from 'vitest'
import { Sparing } from '../../src/sparing.ts'
import { ManualClock } from '../support/manual-clock.ts'

// A flood of refusals must not become a flood of lines, nor go by without one.
test('the first is told at once, those after it every 10 s with their number', () => {
  const clock = new ManualClock()
  const sparing = new Sparing(clock)
  expect(sparing.note('a')).toBe(1)
  clock.advance(9_999)
  expect([sparing.note('a'), sparing.note('a'), sparing.note('b')]).toEqual([0, 0, 1])
  clock.advance(1)
  expect(sparing.note('a')).toBe(3)
  expect(sparing.note('a')).toBe(0)
})
