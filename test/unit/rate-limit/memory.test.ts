import { describe, expect, test } from 'vitest'
import { WINDOW_MS } from '../../../src/rate-limit/limiter.ts'
import { AdmissionLog, MemoryLimiter } from '../../../src/rate-limit/memory.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'
import { decideAll, limiterSuite } from '../../support/suites/limiter-suite.ts'

const QUOTA = 3

describe('the in-process limiter', () => {
  limiterSuite(async () => {
    // Not on a whole millisecond, as clocks are.
    const clock = new ManualClock(1_000_000.75)
    return {
      limiter: new MemoryLimiter({ clock }),
      nowMs: () => clock.monotonicMs(),
      advance: async (ms) => clock.advance(ms),
      close: async () => {},
    }
  }, 500)
})

async function admitted(limiter: MemoryLimiter, subject: string, requests = 1): Promise<number> {
  const decisions = await decideAll(limiter, subject, QUOTA, requests)
  return decisions.filter(({ isAdmitted }) => isAdmitted).length
}

test('subjects that have been idle for a window are forgotten, and no others', async () => {
  const clock = new ManualClock()
  const limiter = new MemoryLimiter({ clock })
  for (let i = 0; i < 10; i++) await admitted(limiter, `key_${i}`, QUOTA)
  clock.advance(WINDOW_MS - 1)
  expect(await admitted(limiter, 'key_0')).toBe(0)
  expect(limiter.subjectCount).toBe(10)
  clock.advance(1)
  expect(await admitted(limiter, 'key_0')).toBe(1)
  expect(limiter.subjectCount).toBe(1)
})

// Forgetting one that is not idle would hand out its quota again.
test('at its bound it forgets no subject: new ones share one budget until an entry is free', async () => {
  const clock = new ManualClock()
  const limiter = new MemoryLimiter({ clock, callersMax: 2 })
  await admitted(limiter, 'key_a', QUOTA)
  await admitted(limiter, 'key_b', QUOTA)
  expect(await admitted(limiter, 'key_c', 2)).toBe(2)
  expect(await admitted(limiter, 'key_d', 2)).toBe(1)
  expect(await admitted(limiter, 'key_a')).toBe(0)
  expect(limiter.subjectCount).toBe(2)
  clock.advance(WINDOW_MS)
  expect(await admitted(limiter, 'key_d', 5)).toBe(QUOTA)
})

// One client can have very many addresses; a server that calls with its key must not suffer for it.
test('addresses take no entries from keys', async () => {
  const limiter = new MemoryLimiter({ clock: new ManualClock(), callersMax: 2, addressesMax: 2 })
  for (let i = 0; i < 50; i++) await admitted(limiter, `ip:10.0.0.${i}`, QUOTA)
  expect(await admitted(limiter, 'key_a', 5)).toBe(QUOTA)
  expect(limiter.subjectCount).toBe(3)
})

test('requests that were admitted elsewhere count, and leave in time', async () => {
  const clock = new ManualClock()
  const limiter = new MemoryLimiter({ clock })
  limiter.note('key_a', 2)
  expect(await admitted(limiter, 'key_a', 5)).toBe(1)
  clock.advance(WINDOW_MS)
  expect(await admitted(limiter, 'key_a', 5)).toBe(QUOTA)
})

// The order is kept by hand: a wrong link would lose subjects, or keep them for ever.
test('subjects leave in the order of their latest admission', async () => {
  const clock = new ManualClock(0)
  const limiter = new MemoryLimiter({ clock })
  for (const name of ['key_a', 'key_b', 'key_c', 'key_d', 'key_b', 'key_a', 'key_d']) {
    await admitted(limiter, name)
    clock.advance(10)
  }
  // The latest of c was at 20, of b at 40, of a at 50, of d at 60.
  const counts: number[] = []
  for (const latestMs of [20, 40, 50, 60]) {
    clock.advance(latestMs + WINDOW_MS - clock.monotonicMs())
    await decideAll(limiter, 'key_none', 0, 1)
    counts.push(limiter.subjectCount)
  }
  expect(counts).toEqual([3, 2, 1, 0])
})

// A quota of 100 million must not cost a gigabyte.
test('a log holds one run for each millisecond, whatever the quota', () => {
  const log = new AdmissionLog('key_a')
  for (let ms = 0; ms < 2 * WINDOW_MS; ms++) {
    log.expire(ms)
    for (let i = 0; i < 3; i++) log.add(ms, 1000)
  }
  expect(log.count).toBe(3_000 * WINDOW_MS)
  expect(log.waitMs(2 * WINDOW_MS - 1, log.count)).toBe(1)
  expect(log.bytes).toBeLessThanOrEqual(2 ** 20)
})
