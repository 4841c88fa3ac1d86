import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { systemClock } from '../../../src/platform/clock.ts'
import { WINDOW_MS } from '../../../src/rate-limit/limiter.ts'
import { manualRedisLimiter, openRedisLimiter, redisUrl } from '../../support/servers/redis.ts'
import {
  decideAll,
  type LimiterUnderTest,
  limiterSuite,
} from '../../support/suites/limiter-suite.ts'

/** What a saturated key of the default quota may take. */
const BYTES_MAX = 16 * 1024
const STAMPS = 2 ** 22
const COUNTS = 2 ** 31

const newSubject = () => `key_${randomBytes(8).toString('hex')}`

describe.skipIf(inject('redisUrl') === null)('on Redis', () => {
  describe('the shared limiter', () => {
    limiterSuite(manualRedisLimiter, 150)
  })

  describe('the log', () => {
    let under: LimiterUnderTest & Awaited<ReturnType<typeof manualRedisLimiter>>
    let subject: string
    let log: string

    beforeEach(async () => {
      under = await manualRedisLimiter()
      subject = newSubject()
      log = `scoreline:quota:${subject}`
    })
    afterEach(async () => {
      await under.redis.del(log)
      await under.close()
    })

    async function admitted(quota: number, requests: number): Promise<number> {
      const decisions = await decideAll(under.limiter, subject, quota, requests)
      return decisions.filter(({ isAdmitted }) => isAdmitted).length
    }

    /** Writes runs of one request each, `everyMs` apart, as if they had been admitted until now. */
    async function fill(runs: number, everyMs: number, counted: number): Promise<void> {
      const run = (i: number, count: number) => {
        const stamp = (under.nowMs() - (runs - 1 - i) * everyMs) % STAMPS
        return String((count % COUNTS) * STAMPS + stamp)
      }
      const values = Array.from({ length: runs }, (_, i) => run(i, counted + i + 1))
      for (let at = 0; at < runs; at += 5_000) {
        const before = at === 0 ? [run(-1, counted)] : []
        await under.redis.rpush(log, ...before, ...values.slice(at, at + 5_000))
      }
    }

    test('of a saturated key takes at most 16 KiB', async () => {
      // Every request in a millisecond of its own, late in a long life: the longest form there is.
      await fill(999, 59, 2 ** 30)
      expect(await admitted(1_000, 5)).toBe(1)
      const bytes = Number(await under.redis.memory('USAGE', log, 'SAMPLES', 0))
      expect(bytes).toBeLessThanOrEqual(BYTES_MAX)
      expect(bytes).toBeGreaterThan(8_000)
    })

    test('expires a window after its last admission', async () => {
      await admitted(1_000, 3)
      expect(await under.redis.pttl(log)).toBeGreaterThan(WINDOW_MS - 5_000)
      expect(await under.redis.pttl(log)).toBeLessThanOrEqual(WINDOW_MS)
    })

    // Its numbers are kept short, so they begin anew now and then.
    test('counts right where its own numbers wrap around', async () => {
      await fill(10, 1, COUNTS - 5)
      expect(await admitted(14, 9)).toBe(4)
      await under.advance(WINDOW_MS - 1)
      // All but the last and those that came with it have left.
      expect(await admitted(14, 99)).toBe(9)
    })

    // Redis does nothing else meanwhile, for anybody.
    test('of 60,000 runs is trimmed in a few milliseconds', async () => {
      // The machine can be busy with something else: the fastest round is what Redis takes.
      let leastMs = Number.POSITIVE_INFINITY
      for (let round = 0; round < 20 && leastMs >= 25; round++) {
        await under.redis.del(log)
        await fill(WINDOW_MS, 1, 7)
        await under.advance(WINDOW_MS - 10)
        const startedMs = performance.now()
        expect(await admitted(100, 200)).toBe(90)
        leastMs = Math.min(leastMs, performance.now() - startedMs)
        expect(await under.redis.llen(log)).toBe(12)
      }
      expect(leastMs).toBeLessThan(25)
    })

    // After it there are admissions in the future, which would never leave.
    test('never admits too many when the clock of Redis is set back, and recovers in a window', async () => {
      expect(await admitted(5, 3)).toBe(3)
      await under.advance(-600_000)
      expect(await admitted(5, 9)).toBe(2)
      await under.advance(WINDOW_MS - 1)
      expect(await admitted(5, 1)).toBe(0)
      await under.advance(1)
      expect(await admitted(5, 9)).toBe(5)
    })

    // A slot moves to a node whose clock is behind: its callers must not wait for a whole window.
    test.each([1, 1_500, 2_000])(
      'of a node whose clock is %d ms ahead keeps its times',
      async (aheadMs) => {
        expect(await admitted(5, 2)).toBe(2)
        await under.advance(WINDOW_MS - 5_000)
        expect(await admitted(5, 2)).toBe(2)
        await under.advance(-aheadMs)
        // Never too many: what was admitted before the move still counts.
        expect(await admitted(5, 9)).toBe(1)
        await under.advance(aheadMs + 4_999)
        expect(await admitted(5, 1)).toBe(0)
        // The first two have left a window after they came.
        await under.advance(1)
        expect(await admitted(5, 9)).toBe(2)
        await under.advance(WINDOW_MS - 5_000)
        expect(await admitted(5, 9)).toBe(3)
      },
    )

    test('of a node whose clock is ahead tells how long its callers wait', async () => {
      await admitted(4, 2)
      await under.advance(10_000)
      await admitted(4, 1)
      await under.advance(-1_500)
      const [, denied] = await decideAll(under.limiter, subject, 4, 2)
      expect(denied).toMatchObject({ isAdmitted: false, retryAfterMs: WINDOW_MS - 10_000 + 1_500 })
    })

    test('a denial is repeated without asking for a second at the most', async () => {
      expect(await admitted(2, 4)).toBe(2)
      await under.redis.del(log)
      await under.advance(999)
      expect(await admitted(2, 1)).toBe(0)
      await under.advance(1)
      expect(await admitted(2, 1)).toBe(1)
    })
  })

  // Two replicas, though their own clocks agree about nothing.
  test('replicas share one budget', async () => {
    const late = { ...systemClock, monotonicMs: () => performance.now() - 1e9 }
    const one = await openRedisLimiter(redisUrl(), { clock: systemClock })
    const other = await openRedisLimiter(redisUrl(), { clock: late })
    const countAlone = () =>
      one.limiter.counters.decidedDegraded + other.limiter.counters.decidedDegraded
    let admitted: Awaited<ReturnType<typeof decideAll>> = []
    let alone = -1
    // A round in which a busy machine held Redis up says nothing: each counted for itself.
    for (let round = 0; round < 10 && countAlone() !== alone; round++) {
      alone = countAlone()
      const subject = newSubject()
      const ask = ({ limiter }: typeof one) => decideAll(limiter, subject, 100, 100)
      const decisions = (await Promise.all([ask(one), ask(other), ask(one), ask(other)])).flat()
      admitted = decisions.filter(({ isAdmitted }) => isAdmitted)
    }
    expect(countAlone()).toBe(alone)
    expect(admitted.length).toBe(100)
    expect(new Set(admitted.map(({ remaining }) => remaining)).size).toBe(100)
    one.limiter.close()
    other.limiter.close()
  })
})
