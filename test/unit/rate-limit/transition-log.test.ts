import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { TransitionLog } from '../../../src/rate-limit/open.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a quota that goes over and back makes one line in ten seconds, and the last one is true', () => {
  const said: object[] = []
  const clock = { epochMs: () => Date.now(), monotonicMs: () => Date.now() }
  const log = new TransitionLog(clock, (facts) => said.push(facts))
  for (let pair = 0; pair < 19; pair++) {
    log.note(true, 'slow')
    log.note(false, 'it answers again')
    vi.advanceTimersByTime(50)
  }
  log.note(true, 'lost')
  expect(said).toEqual([{ isDegraded: true, reason: 'slow', changes: 1 }])
  vi.advanceTimersByTime(10_000)
  expect(said.slice(1)).toEqual([{ isDegraded: true, reason: 'lost', changes: 38 }])
  vi.advanceTimersByTime(60_000)
  log.note(false, 'it answers again')
  expect(said).toHaveLength(3)
})
