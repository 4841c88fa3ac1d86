import { randomBytes } from 'node:crypto'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import {
  FAILURES_MAX,
  FAILURES_WINDOW_MS,
  type LoginThrottle,
} from '../../../../src/identity/auth/login-throttle.ts'
import { MemoryLoginThrottle } from '../../../../src/identity/auth/memory.ts'
import { RedisLoginThrottle } from '../../../../src/identity/auth/redis.ts'
import { systemClock } from '../../../../src/platform/clock.ts'
import { redisUrl } from '../../../support/servers/redis.ts'
import { RedisServer } from '../../../support/servers/redis-server.ts'
import { TcpProxy } from '../../../support/servers/tcp-proxy.ts'

const newSubject = () => randomBytes(9).toString('base64url')

/** A replica's throttle; its connection is there. */
async function replica(url: string): Promise<LoginThrottle> {
  const local = new MemoryLoginThrottle(systemClock)
  const throttle = new RedisLoginThrottle({ target: url, local })
  onTestFinished(() => throttle.close())
  await new Promise((resolve) => setTimeout(resolve, 300))
  return throttle
}

async function fail(throttle: LoginThrottle, ...subjects: string[]): Promise<void> {
  await (await throttle.begin(subjects))(false)
}

describe.skipIf(inject('redisUrl') === null)('sign-ins over replicas on Redis', () => {
  // Behind a balancer a guesser meets every replica: five of them must not give fifty guesses.
  test('ten failures on all replicas together refuse the next on each of them', async () => {
    const [first, second] = [await replica(redisUrl()), await replica(redisUrl())]
    const email = newSubject()
    for (let n = 0; n < FAILURES_MAX / 2; n++) {
      await fail(first, email)
      await fail(second, email)
    }
    for (const throttle of [first, second]) {
      const refused = await throttle.begin([email]).catch((error) => error)
      expect(refused).toMatchObject({ code: 'rate_limited' })
      expect(refused.retryAfterMs).toBeGreaterThan(0)
      expect(refused.retryAfterMs).toBeLessThanOrEqual(FAILURES_WINDOW_MS)
      await expect(throttle.refuseSpent([email])).rejects.toMatchObject({ code: 'rate_limited' })
    }
    await fail(first, newSubject())
  })

  // Guesses that are sent at once to all replicas must not all be checked.
  test('of 40 guesses at once on two replicas ten are checked', async () => {
    const replicas = [await replica(redisUrl()), await replica(redisUrl())]
    const email = newSubject()
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, n) => fail(replicas[n % 2] ?? expect.fail(), email)),
    )
    const checked = outcomes.filter(({ status }) => status === 'fulfilled')
    expect(checked).toHaveLength(FAILURES_MAX)
  })

  test('right passwords do not count on any replica', async () => {
    const [first, second] = [await replica(redisUrl()), await replica(redisUrl())]
    const email = newSubject()
    for (let n = 0; n < 2 * FAILURES_MAX; n++) await (await first.begin([email]))(true)
    await fail(second, email)
  })

  // A Redis that is away must neither keep people out nor let a guesser in.
  test('without Redis each replica counts alone', async () => {
    const redis = await RedisServer.start()
    const throttle = await replica(redis.url)
    const email = newSubject()
    await fail(throttle, email)
    await redis.remove()
    for (let n = 1; n < FAILURES_MAX; n++) await fail(throttle, email)
    await expect(throttle.begin([email])).rejects.toMatchObject({ code: 'rate_limited' })
  })

  // A connection that swallows everything has no error: it would be kept for a quarter of an hour.
  test('a replica whose connection went silent counts with the others again', async () => {
    const url = new URL(redisUrl())
    const proxy = await TcpProxy.start(Number(url.port))
    onTestFinished(() => proxy.close())
    url.port = String(proxy.port)
    const [first, second] = [await replica(url.href), await replica(redisUrl())]
    proxy.silenceConnections()
    const countOfBoth = async () => {
      const email = newSubject()
      for (let n = 0; n < FAILURES_MAX; n++) await fail(first, email)
      return second.refuseSpent([email]).catch(({ code }) => code)
    }
    await expect.poll(countOfBoth, { timeout: 15_000 }).toBe('rate_limited')
  })
})
