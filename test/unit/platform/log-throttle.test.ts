import { expect, test } from 'vitest'
import { LogThrottle } from '../../../src/platform/log-throttle.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'

// A flood of refusals must not become a flood of lines, nor go by without one.
test('the first event is logged at once, later ones every 10 s with their number', () => {
  const clock = new ManualClock()
  const throttle = new LogThrottle(clock)
  expect(throttle.hit('a')).toBe(1)
  clock.advance(9_999)
  expect([throttle.hit('a'), throttle.hit('a'), throttle.hit('b')]).toEqual([0, 0, 1])
  clock.advance(1)
  expect(throttle.hit('a')).toBe(3)
  expect(throttle.hit('a')).toBe(0)
})
