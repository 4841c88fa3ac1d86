import { setTimeout } from 'node:timers/promises'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/platform/clock.ts'
import type { RedisLimiter } from '../../../src/rate-limit/redis.ts'
import { BEST_OF_FOUR } from '../../support/expect/tries.ts'
import { openRedisLimiter, RedisProcess } from '../../support/servers/redis.ts'
import { TcpProxy } from '../../support/servers/tcp-proxy.ts'
import { decideAll } from '../../support/suites/limiter-suite.ts'

/** What a request may wait for Redis, and what a busy machine adds. */
const WAIT_MS_MAX = 50
const SLACK_MS = 150
const RETURN_MS_MAX = 3_000
const QUOTA = 1_000_000
const SUBJECT = 'key_faults'
const LOG = `scoreline:quota:${SUBJECT}`

interface LoadResult {
  /** Longest time that a request waited for its decision. */
  worstMs: number
  decided: number
  denied: number
}

/** Requests, five each few milliseconds, until it is stopped. */
function startLoad(limiter: RedisLimiter, quota = QUOTA): () => Promise<LoadResult> {
  const result: LoadResult = { worstMs: 0, decided: 0, denied: 0 }
  let isStopped = false
  const run = async () => {
    const waiting: Promise<void>[] = []
    while (!isStopped) {
      const startedMs = performance.now()
      const decisions = decideAll(limiter, SUBJECT, quota, 5).then((all) => {
        result.worstMs = Math.max(result.worstMs, performance.now() - startedMs)
        result.decided += all.length
        result.denied += all.filter(({ isAdmitted }) => !isAdmitted).length
      })
      waiting.push(decisions)
      await setTimeout(4)
    }
    await Promise.all(waiting)
    return result
  }
  const running = run()
  return () => {
    isStopped = true
    return running
  }
}

async function until(holds: () => boolean): Promise<number> {
  const startedMs = performance.now()
  while (!holds() && performance.now() - startedMs < 10_000) await setTimeout(2)
  return performance.now() - startedMs
}

describe.skipIf(inject('redisUrl') === null)('on a Redis that fails', BEST_OF_FOUR, () => {
  async function open(url: string) {
    const opened = await openRedisLimiter(url, { clock: systemClock })
    onTestFinished(() => opened.limiter.close())
    return opened
  }

  // Each fault: what is done, and what undoes it; requests go on all the while.
  const FAULTS: [string, (redis: RedisProcess) => unknown, (redis: RedisProcess) => unknown][] = [
    ['killed and started again', (redis) => redis.kill(), (redis) => redis.restart()],
    [
      'stopped and continued',
      (redis) => redis.signal('SIGSTOP'),
      (redis) => redis.signal('SIGCONT'),
    ],
  ]
  test.each(FAULTS)(
    '%s under load: no request waits, and Redis is used again',
    async (what, harm, heal) => {
      const redis = await RedisProcess.start()
      const { limiter, transitions } = await open(redis.url)
      const stop = startLoad(limiter)
      await setTimeout(200)

      await harm(redis)
      await until(() => limiter.counters.isDegraded)
      await setTimeout(700)
      const { decidedDegraded } = limiter.counters
      await heal(redis)
      const returnMs = await until(() => !limiter.counters.isDegraded)
      await setTimeout(200)
      const { worstMs, decided, denied } = await stop()
      report(what, { worstMs, decided, decidedDegraded, returnMs })

      expect(decidedDegraded).toBeGreaterThan(50)
      expect(worstMs).toBeLessThan(WAIT_MS_MAX + SLACK_MS)
      expect(returnMs).toBeLessThan(RETURN_MS_MAX)
      // Once each, unless a busy machine held it up in between.
      expect(transitions.length).toBeLessThanOrEqual(4)
      expect(transitions.at(-1)).toBe(false)
      expect(denied).toBe(0)
    },
  )

  test('slow beyond the time that requests wait: decided in process until it is fast', async () => {
    const redis = await RedisProcess.start()
    const proxy = await TcpProxy.start(redis.port)
    onTestFinished(() => proxy.close())
    const { limiter, transitions } = await open(`redis://127.0.0.1:${proxy.port}`)
    const stop = startLoad(limiter)
    await setTimeout(200)
    proxy.delay(60)
    await until(() => limiter.counters.isDegraded)
    await setTimeout(1_500)
    // It greets, but answers nothing in time.
    expect(transitions).toEqual([true])
    proxy.delay(0)
    const returnMs = await until(() => !limiter.counters.isDegraded)
    const { worstMs, decided } = await stop()
    report('slow', { worstMs, decided, returnMs })
    expect(worstMs).toBeLessThan(WAIT_MS_MAX + SLACK_MS)
    expect(returnMs).toBeLessThan(RETURN_MS_MAX)
  })

  test('silent connections are given up', async () => {
    const redis = await RedisProcess.start()
    const proxy = await TcpProxy.start(redis.port)
    onTestFinished(() => proxy.close())
    const { limiter, transitions } = await open(`redis://127.0.0.1:${proxy.port}`)
    const stop = startLoad(limiter)
    await setTimeout(100)
    proxy.silenceConnections()
    await until(() => transitions.length === 2)
    const { worstMs } = await stop()
    report('silent', { worstMs })
    expect(worstMs).toBeLessThan(WAIT_MS_MAX + SLACK_MS)
    expect(transitions).toEqual([true, false])
  })

  test('a Redis that is emptied under load goes on counting, from zero', async () => {
    const redis = await RedisProcess.start()
    const { limiter, transitions } = await open(redis.url)
    const client = redis.client()
    onTestFinished(() => client.disconnect())
    const stop = startLoad(limiter)
    await setTimeout(200)
    await client.flushall()
    await client.script('FLUSH')
    await setTimeout(200)
    const { worstMs } = await stop()
    report('flushed', { worstMs, transitions: transitions.length })
    expect(worstMs).toBeLessThan(WAIT_MS_MAX + SLACK_MS)
    expect(limiter.counters.isDegraded).toBe(false)
    expect(await client.exists(LOG)).toBe(1)
  })

  test('away at the start: the service starts, counts in process, and finds it later', async () => {
    const redis = await RedisProcess.start()
    await redis.kill()
    const { limiter, transitions } = await open(redis.url)
    expect(transitions).toEqual([true])
    expect(await decideAll(limiter, SUBJECT, 2, 3)).toMatchObject([
      { isAdmitted: true },
      { isAdmitted: true },
      { isAdmitted: false },
    ])
    await redis.restart()
    expect(await until(() => !limiter.counters.isDegraded)).toBeLessThan(RETURN_MS_MAX)
  })

  test('a Redis that needs a password it was not given counts as away', async () => {
    const redis = await RedisProcess.start()
    const client = redis.client()
    onTestFinished(() => client.disconnect())
    await client.config('SET', 'requirepass', 'a password')
    const { limiter } = await open(redis.url)
    expect(await decideAll(limiter, SUBJECT, 1, 1)).toMatchObject([{ isAdmitted: true }])
    expect(limiter.counters.isDegraded).toBe(true)
  })

  // Else the count would be too high for a minute, by whatever was sent before the fault was seen.
  test('a call that was given up counts no request if Redis carries it out later', async () => {
    const redis = await RedisProcess.start()
    const { limiter } = await open(redis.url)
    const client = redis.client()
    onTestFinished(() => client.disconnect())
    await decideAll(limiter, SUBJECT, 1_000, 10)
    redis.signal('SIGSTOP')
    // Turn after turn is sent until the first is overdue.
    const stop = startLoad(limiter, 1_000)
    await until(() => limiter.counters.isDegraded)
    const { decided } = await stop()
    expect(decided).toBeGreaterThan(10)
    await setTimeout(100)
    redis.signal('SIGCONT')
    await client.ping()
    await setTimeout(100)
    const counted = (run: string | undefined) => Math.floor(Number(run) / 2 ** 22)
    const [first] = await client.lrange(LOG, 0, 0)
    const [last] = await client.lrange(LOG, -1, -1)
    expect(counted(last) - counted(first)).toBe(10)
  })
})

/** Tells what a run saw where somebody looks for it: the figures of a fault table. */
function report(what: string, facts: Record<string, number>): void {
  if (process.env['TELL_FAULTS'] === undefined) return
  const rounded = Object.entries(facts).map(([name, value]) => `${name} ${value.toFixed(1)}`)
  process.stdout.write(`${what}: ${rounded.join(', ')}\n`)
}
