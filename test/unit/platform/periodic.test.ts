import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Periodic } from '../../../src/platform/periodic.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const EVERY_MS = 1_000
/** With the longest jitter. */
const EVERY_MS_MAX = 1.1 * EVERY_MS

function periodic(round: () => Promise<unknown> = async () => undefined, retryMs = EVERY_MS) {
  const errors: unknown[] = []
  const calls = { count: 0, running: 0, runningMax: 0 }
  const one = new Periodic({
    everyMs: EVERY_MS,
    retryMs,
    onFailed: (error) => errors.push(error),
    round: async () => {
      calls.count++
      calls.running++
      calls.runningMax = Math.max(calls.runningMax, calls.running)
      await round().finally(() => calls.running--)
    },
  })
  return { one, calls, errors }
}

test('rounds follow each other a period and at most a tenth more apart', async () => {
  const { one, calls } = periodic()
  one.start()
  await vi.advanceTimersByTimeAsync(EVERY_MS - 1)
  expect(calls.count).toBe(0)
  await vi.advanceTimersByTimeAsync(1)
  expect(calls.count).toBe(1)
  await vi.advanceTimersByTimeAsync(EVERY_MS - 1)
  expect(calls.count).toBe(1)
  await vi.advanceTimersByTimeAsync(100 * EVERY_MS_MAX)
  expect(calls.count).toBeGreaterThanOrEqual(101)
  expect(calls.count).toBeLessThanOrEqual(111)
  await one.close()
})

test('a failed round is counted, told, and tried again after the shorter pause', async () => {
  const { one, calls, errors } = periodic(() => Promise.reject(new Error('away')), 100)
  one.start(0)
  await vi.advanceTimersByTimeAsync(250)
  expect(calls.count).toBe(3)
  expect(one.failures).toBe(3)
  expect(errors).toEqual(Array.from({ length: 3 }, () => new Error('away')))
  await one.close()
})

test('a round that throws before it waits leaves the next ones', async () => {
  let count = 0
  const one = new Periodic({
    everyMs: EVERY_MS,
    onFailed: () => undefined,
    round: () => {
      count++
      throw new Error('at once')
    },
  })
  one.start(0)
  await vi.advanceTimersByTimeAsync(EVERY_MS_MAX)
  expect(count).toBe(2)
  await one.close()
})

test('rounds do not overlap, and a call during one leads to one more at once', async () => {
  const { one, calls } = periodic(() => new Promise((resolve) => setTimeout(resolve, 10_000)))
  one.start(0)
  const joined = one.runOnce()
  one.wake()
  one.wake()
  await vi.advanceTimersByTimeAsync(9_999)
  expect(calls.count).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  await joined
  await vi.advanceTimersByTimeAsync(0)
  expect(calls).toEqual({ count: 2, running: 1, runningMax: 1 })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(calls.count).toBe(2)
  await one.close()
})

// Facts that arrive again and again must not put off what works them off.
test('a later call does not put off a round that is due earlier', async () => {
  const { one, calls } = periodic()
  one.start()
  for (let call = 0; call < 6; call++) {
    one.wake(500)
    await vi.advanceTimersByTimeAsync(100)
  }
  expect(calls.count).toBe(1)
  await one.close()
})

test('close waits for the running round, tells it to end, and starts no other', async () => {
  let hasSeenEnd = false
  const { one, calls, errors } = periodic(async () => {
    await new Promise((resolve) => setTimeout(resolve, 50))
    hasSeenEnd = one.signal.aborted
    one.signal.throwIfAborted()
  })
  one.start(0)
  let isClosed = false
  const closing = one.close().then(() => {
    isClosed = true
  })
  one.wake()
  await vi.advanceTimersByTimeAsync(49)
  expect(isClosed).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  await closing
  await vi.advanceTimersByTimeAsync(10 * EVERY_MS)
  expect({ hasSeenEnd, count: calls.count, errors }).toEqual({
    hasSeenEnd: true,
    count: 1,
    errors: [],
  })
})

test('a round by hand is the only one of what was not started', async () => {
  const { one, calls } = periodic()
  await one.runOnce()
  await vi.advanceTimersByTimeAsync(10 * EVERY_MS)
  expect(calls.count).toBe(1)
})
