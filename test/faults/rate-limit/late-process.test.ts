import { setImmediate, setTimeout } from 'node:timers/promises'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/platform/clock.ts'
import type { Limiter } from '../../../src/rate-limit/limiter.ts'
import { BEST_OF_FOUR } from '../../support/expect/tries.ts'
import { openRedisLimiter, RedisProcess } from '../../support/servers/redis.ts'
import { decideAll } from '../../support/suites/limiter-suite.ts'

const STOOD_STILL_MS = 200
const QUOTA = 100
const ROUNDS = 150
const TRIES_MAX = 20

/** Keeps the event loop from turning, as a large body or another process on the core does. */
function standStill(ms: number): void {
  const untilMs = performance.now() + ms
  while (performance.now() < untilMs);
}

/** Moments at which the process stands still, from the request on. */
const MOMENTS: [string, () => Promise<void> | void][] = [
  ['at once', () => {}],
  ['in the next turn', () => setImmediate()],
  ['once the call is sent', () => setImmediate().then(() => setImmediate())],
  ['two turns after that', () => setImmediate().then(() => setTimeout(0))],
  ['in a timer', () => setTimeout(1)],
  ['in a microtask', () => Promise.resolve()],
]

/** Asks for more than the quota in a process that stands still between. */
async function admittedByAll(limiters: readonly Limiter[], subject: string): Promise<number> {
  let admitted = 0
  const waiting: Promise<void>[] = []
  for (let round = 0; round < ROUNDS; round++) {
    for (const limiter of limiters) {
      const asked = decideAll(limiter, subject, QUOTA, 2).then((decisions) => {
        admitted += decisions.filter(({ isAdmitted }) => isAdmitted).length
      })
      waiting.push(asked)
    }
    await setTimeout(round % 7)
    standStill((round * 37) % 130)
  }
  await Promise.all(waiting)
  return admitted
}

describe.skipIf(inject('redisUrl') === null)('a process that stands still', BEST_OF_FOUR, () => {
  async function open(count: number) {
    const redis = await RedisProcess.start()
    const opened = await Promise.all(
      Array.from({ length: count }, () => openRedisLimiter(redis.url, { clock: systemClock })),
    )
    onTestFinished(() => {
      for (const { limiter } of opened) limiter.close()
    })
    await setTimeout(50)
    return opened
  }

  test.each(MOMENTS)('%s does not take Redis for slow', async (_moment, untilThen) => {
    const [opened] = await open(1)
    if (opened === undefined) throw new Error('no limiter')
    const { limiter, transitions } = opened
    for (let round = 0; round < 6; round++) {
      const asked = decideAll(limiter, 'key_late', 1_000_000, 5)
      await untilThen()
      standStill(STOOD_STILL_MS)
      const decisions = await asked
      expect(decisions.every(({ isAdmitted }) => isAdmitted)).toBe(true)
    }
    expect(transitions).toEqual([])
    expect(limiter.counters).toMatchObject({ degradations: 0, decidedDegraded: 0 })
  })

  // A try in which a busy machine held Redis up is void. If a process took Redis for slow whenever it
  // stood still itself, all of them would be.
  test('again and again under load neither degrades nor admits more than the quota', async () => {
    const opened = await open(2)
    const limiters = opened.map(({ limiter }) => limiter)
    const changes = () => opened.flatMap(({ transitions }) => transitions).length
    const isDegraded = () => limiters.some(({ counters }) => counters.isDegraded)
    for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
      await expect.poll(isDegraded).toBe(false)
      const before = changes()
      const admitted = await admittedByAll(limiters, `key_shared_${attempt}`)
      if (changes() > before) continue
      expect(admitted).toBe(QUOTA)
      return
    }
    expect.fail('Redis was held up in every try')
  })
})
