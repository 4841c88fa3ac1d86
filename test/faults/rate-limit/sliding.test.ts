import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, inject, test } from 'vitest'
import { systemClock } from '../../../src/platform/clock.ts'
import { type Limiter, WINDOW_MS } from '../../../src/rate-limit/limiter.ts'
import { MemoryLimiter } from '../../../src/rate-limit/memory.ts'
import { openRedisLimiter, redisUrl } from '../../support/servers/redis.ts'
import { decideAll } from '../../support/suites/limiter-suite.ts'

const QUOTA = 120
/** Saturates the quota at half of the first window, and lives on the second. */
const LENGTH_MS = 72_000
const TEST_TIMEOUT_MS = 200_000
const ASKS_EVERY_MS = 250
/** Clocks count whole milliseconds, and two clocks are compared. */
const GRAIN_MS = 2

interface Seen {
  readonly isAdmitted: boolean
  readonly askedMs: number
  readonly answeredMs: number
}

/** A burst at first, then four requests a second: more than the quota, spread over the window. */
async function spacedPattern(limiter: Limiter): Promise<Seen[]> {
  const subject = `key_${randomBytes(8).toString('hex')}`
  const seen: Seen[] = []
  const startedMs = performance.now()
  const ask = async (requests: number) => {
    const askedMs = performance.now()
    const decisions = await decideAll(limiter, subject, QUOTA, requests)
    const answeredMs = performance.now()
    for (const { isAdmitted } of decisions) seen.push({ isAdmitted, askedMs, answeredMs })
  }
  await ask(QUOTA / 4)
  // At that rate on a busy machine, too: what comes late is made up for.
  for (let dueMs = startedMs; performance.now() - startedMs < LENGTH_MS; dueMs += ASKS_EVERY_MS) {
    await setTimeout(Math.max(0, dueMs - performance.now()))
    await ask(1)
  }
  return seen
}

/** Holds what was seen over real time to the definition, from both sides. */
function expectSliding(seen: readonly Seen[]): void {
  const admitted = seen.filter(({ isAdmitted }) => isAdmitted)
  const denied = seen.filter(({ isAdmitted }) => !isAdmitted)
  // The pattern must have met the limit, and gone on after the window slid.
  expect(denied.length).toBeGreaterThan(50)
  expect(admitted.length).toBeGreaterThan(QUOTA + 20)
  // Never more than the quota within 60 s.
  for (let i = QUOTA; i < admitted.length; i++) {
    const apartMs = (admitted[i]?.answeredMs ?? 0) - (admitted[i - QUOTA]?.askedMs ?? 0)
    expect(apartMs).toBeGreaterThan(WINDOW_MS - GRAIN_MS)
  }
  // Never a denial with fewer.
  for (const { askedMs } of denied) {
    const fromMs = askedMs - WINDOW_MS - GRAIN_MS
    const inWindow = admitted.filter(
      ({ answeredMs }) => answeredMs > fromMs && answeredMs <= askedMs,
    )
    expect(inWindow.length).toBeGreaterThanOrEqual(QUOTA)
  }
}

describe.concurrent('over real time', () => {
  test(
    'the in-process window slides',
    async () => expectSliding(await spacedPattern(new MemoryLimiter({ clock: systemClock }))),
    TEST_TIMEOUT_MS,
  )

  test.skipIf(inject('redisUrl') === null)(
    'the window in Redis slides',
    async () => {
      const { limiter } = await openRedisLimiter(redisUrl(), { clock: systemClock })
      const seen = await spacedPattern(limiter)
      limiter.close()
      // A busy machine may hold Redis up for a moment; the window slides on nevertheless.
      expect(limiter.counters.decidedDegraded).toBeLessThan(seen.length / 10)
      expectSliding(seen)
    },
    TEST_TIMEOUT_MS,
  )
})
