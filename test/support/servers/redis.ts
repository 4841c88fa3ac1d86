import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { inject, onTestFinished } from 'vitest'
import type { Clock } from '../../../src/platform/clock.ts'
import { WINDOW_MS } from '../../../src/rate-limit/limiter.ts'
import { MemoryLimiter } from '../../../src/rate-limit/memory.ts'
import { RedisLimiter } from '../../../src/rate-limit/redis.ts'
import { RedisAdmissionLog } from '../../../src/rate-limit/redis-admission-log.ts'
import { ManualClock } from '../start/manual-clock.ts'
import type { LimiterUnderTest } from '../suites/limiter-suite.ts'
import { RedisServer } from './redis-server.ts'

/** The Redis server that the tests were given. */
export function redisUrl(): string {
  const url = inject('redisUrl')
  if (url === null) throw new Error('no Redis server was named')
  return url
}

interface OpenOptions {
  readonly clock: Clock
  readonly nowLua?: string
  readonly local?: MemoryLimiter
}

interface OpenedLimiter {
  readonly limiter: RedisLimiter
  /** Each change between degraded and shared, in order. */
  readonly transitions: boolean[]
}

/** A limiter on a Redis, as the service opens it. */
export async function openRedisLimiter(
  url: string,
  { clock, nowLua, local = new MemoryLimiter({ clock }) }: OpenOptions,
): Promise<OpenedLimiter> {
  const transitions: boolean[] = []
  const limiter = new RedisLimiter({
    clock,
    local,
    open: (events) => new RedisAdmissionLog({ url, nowLua, ...events }),
    onTransition: (isDegraded) => transitions.push(isDegraded),
    onThrown: (error) => {
      throw error
    },
  })
  await limiter.waitUntilClear(5_000)
  return { limiter, transitions }
}

/**
 * The limiter with a script whose clock a test moves: the production script with another expression
 * for the time, which reads a key. Everything else, atomicity and expiry included, is what runs in
 * production.
 */
export async function manualRedisLimiter(): Promise<LimiterUnderTest & { readonly redis: Redis }> {
  const redis = new Redis(redisUrl())
  const clockKey = `scoreline:test-clock:${randomBytes(8).toString('hex')}`
  // Half a minute before the stamps of the log wrap around.
  const clock = new ManualClock(Math.ceil(Date.now() / 2 ** 22) * 2 ** 22 - WINDOW_MS / 2)
  const set = () => redis.set(clockKey, clock.monotonicMs())
  await set()
  const nowLua = `tonumber(redis.call('GET', '${clockKey}'))`
  const { limiter } = await openRedisLimiter(redisUrl(), { clock, nowLua })
  return {
    limiter,
    redis,
    nowMs: () => clock.monotonicMs(),
    advance: async (ms) => {
      clock.advance(ms)
      await set()
    },
    close: async () => {
      limiter.close()
      await redis.del(clockKey)
      redis.disconnect()
    },
  }
}

/** A Redis of the test's own, to be harmed. */
export class RedisProcess extends RedisServer {
  static override async start(): Promise<RedisServer> {
    const redis = await RedisServer.start()
    onTestFinished(() => redis.remove())
    return redis
  }
}
