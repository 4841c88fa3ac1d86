import { expect, test } from 'vitest'
import { OverdueTimer } from '../../../src/rate-limit/redis-times.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'

function startTimer(firstDueAtMs: number) {
  const clock = new ManualClock(0)
  const state = { dueAtMs: firstDueAtMs as number | null, overdue: 0 }
  const timer = new OverdueTimer({
    clock,
    dueAtMs: () => state.dueAtMs,
    onOverdue: () => {
      state.overdue++
      state.dueAtMs = null
    },
  })
  return { clock, state, timer }
}

// Its reply may lie in the socket: the process has not looked since the call became due.
test('a call that became due while the process stood still is read before it is called late', async () => {
  const { clock, state, timer } = startTimer(1)
  timer.watch()
  clock.advance(1)
  // In the same turn, before the check: the first reply comes, and the process stands still.
  setTimeout(() => {
    state.dueAtMs = 70
    clock.advance(199)
  }, 1)
  const atCheck = await new Promise<number>((resolve) => {
    setTimeout(() => setImmediate(() => resolve(state.overdue)), 1)
  })
  expect(atCheck).toBe(0)
  timer.stop()
})

test('a call without a reply is overdue', async () => {
  const { clock, state, timer } = startTimer(5)
  timer.watch()
  clock.advance(5)
  await expect.poll(() => state.overdue).toBe(1)
  timer.stop()
})
