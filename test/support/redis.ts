import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { inject, onTestFinished } from 'vitest'
import type { Clock } from '../../src/clock.ts'
import { WINDOW_MS } from '../../src/ratelimit/limiter.ts'
import { MemoryLimiter } from '../../src/ratelimit/memory.ts'
import { RedisLimiter } from '../../src/ratelimit/redis.ts'
import { SharedLog } from '../../src/ratelimit/shared-log.ts'
import type { LimiterUnderTest } from './limiter-suite.ts'
import { ManualClock } from './manual-clock.ts'

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
    open: (events) => new SharedLog({ url, nowLua, ...events }),
    onTransition: (isDegraded) => transitions.push(isDegraded),
  })
  await limiter.opened(5_000)
  return { limiter, transitions }
}

/**
 * The limiter with a script whose clock a test moves: the production script with another expression for
 * the time, which reads a key. Everything else, atomicity and expiry included, is what runs in production.
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
export class RedisProcess {
  readonly port: number
  private readonly directory = mkdtempSync(join(tmpdir(), 'scoreline-redis-'))
  private child: ChildProcess | null = null

  private constructor(port: number) {
    this.port = port
  }

  static async start(): Promise<RedisProcess> {
    const redis = new RedisProcess(await freePort())
    onTestFinished(() => redis.remove())
    await redis.restart()
    return redis
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Starts it again, empty, and waits until it answers. */
  async restart(): Promise<void> {
    const args = ['--port', `${this.port}`, '--save', '', '--appendonly', 'no']
    this.child = spawn('redis-server', [...args, '--bind', '127.0.0.1', '--dir', this.directory], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const client = this.client()
    await client.ping()
    client.disconnect()
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal)
  }

  async kill(): Promise<void> {
    const { child } = this
    this.child = null
    if (child === null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** A connection to look with, which waits for the server to come. */
  client(): Redis {
    const client = new Redis(this.url, { retryStrategy: () => 20, maxRetriesPerRequest: null })
    client.on('error', () => undefined)
    return client
  }

  private async remove(): Promise<void> {
    await this.kill()
    rmSync(this.directory, { recursive: true, force: true })
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
