import type { Clock } from '../../platform/clock.ts'
import { randomBase62 } from '../../platform/ids.ts'
import { openRedis, type RedisTarget } from '../../platform/redis.ts'
import type { RedisSite } from '../../platform/redis-cluster/site.ts'
import {
  type EndOfCheck,
  FAILURES_MAX,
  FAILURES_WINDOW_MS,
  type LoginThrottle,
  tooManyFailures,
} from './login-throttle.ts'
import { MemoryLoginThrottle } from './memory.ts'

/** Longest time that a sign-in waits for Redis. */
const ANSWER_TIMEOUT_MS = 200
/** After this time without an answer the connection is given up: it may be silently dead. */
const SILENCE_MS_MAX = 2_000
/** A check that has not ended by then belongs to a process that died. */
const CHECK_MS_MAX = 10_000
/** Between two looks at checks that other replicas run. */
const LOOK_AGAIN_MS = 25
const RECONNECT_MS = 200
const ID_CHARS = 12
/** Hash tag of all keys, so that a cluster keeps them on one node. */
export const THROTTLE_TAG = 'scoreline:sign-ins'

/**
 * Begins a check for all subjects, or for none. Each subject has a sorted set of failures by their
 * time, and one of running checks. Times are those of Redis, which all replicas share.
 *
 * ARGV: `look` or `begin`, an id, failures at most, window, longest check.
 * Returns {state, wait in ms}: 0 begun, 1 spent, 2 to ask again.
 */
const BEGIN = `
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
local most, window = tonumber(ARGV[3]), tonumber(ARGV[4])
local wait, crowded = 0, false
for i = 1, #KEYS, 2 do
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', nowMs - window)
  redis.call('ZREMRANGEBYSCORE', KEYS[i + 1], '-inf', nowMs - tonumber(ARGV[5]))
  local failed = redis.call('ZCARD', KEYS[i])
  if failed >= most then
    local oldest = redis.call('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')
    wait = math.max(wait, tonumber(oldest[2]) + window - nowMs)
  elseif failed + redis.call('ZCARD', KEYS[i + 1]) >= most then
    crowded = true
  end
end
if wait > 0 then return {1, wait} end
if ARGV[1] == 'look' then return {0, 0} end
if crowded then return {2, 0} end
for i = 1, #KEYS, 2 do
  redis.call('ZADD', KEYS[i + 1], nowMs, ARGV[2])
  redis.call('PEXPIRE', KEYS[i + 1], ARGV[5])
end
return {0, 0}`

/** Ends a check. ARGV: an id, 1 if the password was right, window. */
const END = `
local now = redis.call('TIME')
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
for i = 1, #KEYS, 2 do
  redis.call('ZREM', KEYS[i + 1], ARGV[1])
  if ARGV[2] == '0' then
    redis.call('ZADD', KEYS[i], nowMs, ARGV[1])
    redis.call('PEXPIRE', KEYS[i], ARGV[3])
  end
end
return 0`

interface RedisThrottleOptions {
  /** A server, or the node of a cluster that has the keys with `THROTTLE_TAG`. */
  readonly target: string | RedisTarget
  /** Bounds the guesses of this process alone, also while Redis is away. */
  readonly local: LoginThrottle
  /** Receives a refused command; returns whether another node has the keys now. */
  readonly onRefused?: (error: Error) => boolean
}

/**
 * The throttle that replicas share. A check begins when this process and Redis both admit it. While
 * Redis is away, or silent for `ANSWER_TIMEOUT_MS`, this process decides alone: then a guesser has
 * as many guesses as there are replicas, and nobody is kept from signing in.
 * On a cluster all keys are on one node; while they are on their way to another one, this process
 * decides alone, too.
 */
export class RedisLoginThrottle implements LoginThrottle {
  private readonly local: LoginThrottle
  private readonly redis: ReturnType<typeof openRedis>
  private readonly onRefused: (error: Error) => boolean

  constructor({ target, local, onRefused }: RedisThrottleOptions) {
    this.local = local
    this.redis = openRedis(target, 'sign-ins', () => RECONNECT_MS)
    this.onRefused = onRefused ?? (() => false)
  }

  async refuseSpent(subjects: readonly string[]): Promise<void> {
    await this.local.refuseSpent(subjects)
    await this.ask('look', subjects, '')
  }

  async begin(subjects: readonly string[]): Promise<EndOfCheck> {
    const endLocal = await this.local.begin(subjects)
    const id = randomBase62(ID_CHARS)
    try {
      const startedAtMs = performance.now()
      while ((await this.ask('begin', subjects, id)) === 'crowded') {
        // By then all checks that were running have ended, or their process has died.
        if (performance.now() - startedAtMs > CHECK_MS_MAX) throw tooManyFailures(CHECK_MS_MAX)
        await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
      }
    } catch (error) {
      await endLocal(true)
      throw error
    }
    return async (isRight) => {
      await endLocal(isRight)
      await this.run(END, subjects, [id, isRight ? '1' : '0', FAILURES_WINDOW_MS])
    }
  }

  async close(): Promise<void> {
    this.redis.disconnect()
  }

  /** @throws AppError `rate_limited` */
  private async ask(
    what: 'look' | 'begin',
    subjects: readonly string[],
    id: string,
  ): Promise<'begun' | 'crowded'> {
    const bounds = [FAILURES_MAX, FAILURES_WINDOW_MS, CHECK_MS_MAX]
    const [state, waitMs] = (await this.run(BEGIN, subjects, [what, id, ...bounds])) ?? [0, 0]
    if (state === 1) throw tooManyFailures(Math.max(1, waitMs ?? 1))
    return state === 2 ? 'crowded' : 'begun'
  }

  /** @returns null if Redis did not answer in time */
  private async run(
    script: string,
    subjects: readonly string[],
    args: readonly (string | number)[],
  ): Promise<readonly number[] | null> {
    const keys = subjects.flatMap((subject) => [
      `{${THROTTLE_TAG}}:failed:${subject}`,
      `{${THROTTLE_TAG}}:running:${subject}`,
    ])
    const late = Promise.withResolvers<null>()
    const timer = setTimeout(() => late.resolve(null), ANSWER_TIMEOUT_MS)
    const silence = setTimeout(() => this.redis.disconnect(true), SILENCE_MS_MAX).unref()
    const asked = this.redis
      .eval(script, keys.length, ...keys, ...args)
      .then((answer) => (Array.isArray(answer) ? answer.map(Number) : null))
      .catch((error: Error) => {
        if (this.onRefused(error)) this.redis.disconnect(true)
        return null
      })
      .finally(() => clearTimeout(silence))
    const answer = await Promise.race([asked, late.promise])
    clearTimeout(timer)
    return answer
  }
}

/** Opens the throttle of sign-ins: shared by all replicas with a Redis, else in this process. */
export function openThrottle({
  redis,
  clock,
}: {
  readonly redis: RedisSite | null
  readonly clock: Clock
}): LoginThrottle & { close(): Promise<void> } {
  const local = new MemoryLoginThrottle(clock)
  if (redis === null) return Object.assign(local, { close: async () => {} })
  return new RedisLoginThrottle({
    target: redis.findTarget(THROTTLE_TAG),
    onRefused: (error) => redis.noteRefusal(error),
    local,
  })
}
