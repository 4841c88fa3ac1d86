import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'
import { backOffMs } from '../platform/back-off.ts'
import { openRedis } from '../platform/redis.ts'
import type { Redirect } from '../platform/redis-cluster/replies.ts'
import type { RedisRide } from '../platform/redis-ride.ts'
import { WINDOW_MS } from './limiter.ts'

/** Requests of one subject that are counted by one call. */
export interface QuotaRequest {
  readonly subject: string
  readonly quota: number
  readonly requests: number
  /** The answer of a node of a cluster that did not count them; null: nothing. */
  redirect: Redirect | null
}

/**
 * Receives the numbers that the script returns; null with the reason, and the error of Redis, if
 * the call failed.
 */
export type OnReply = (answer: readonly number[] | null, failure: string, error?: Error) => void

interface RedisAdmissionLogOptions {
  readonly url: string
  /** Carries other calls over the connection. */
  readonly ride?: RedisRide | undefined
  /** Called for each connection that takes calls. */
  readonly onOpen: () => void
  /** Called when the connection is lost or can't be made, with the reason. */
  readonly onLost: (reason: string) => void
  /** Expression for the time; tests have a clock of their own. */
  readonly nowLua?: string | undefined
}

interface CountingRedis extends Redis {
  countAdmissions(args: (string | number)[], callback: CountingCallback): void
}
type CountingCallback = (error: Error | null | undefined, answer: unknown) => void

export const QUOTA_KEY_PREFIX = 'scoreline:quota:'
const PAUSES = { minMs: 100, maxMs: 1_000 }

/**
 * The admissions of all subjects in Redis, over one connection.
 *
 * *Connecting*, until `onOpen`; *open*, until `onLost`; then *connecting* again, by itself, after
 * 0.1 to 1 s: longer for each time since `settle` was called. No call outlives its connection.
 */
export class RedisAdmissionLog {
  private readonly redis: CountingRedis
  private readonly script: string
  private attempts = 0
  private lastError = 'it could not be reached'

  constructor({ url, onOpen, onLost, nowLua, ride }: RedisAdmissionLogOptions) {
    const redis = openRedis(url, 'quota', () => backOffMs(PAUSES, this.attempts++))
    this.script = makeCountingScript(nowLua)
    redis.defineCommand('countAdmissions', { lua: this.script })
    ride?.attach(redis)
    redis.on('ready', onOpen)
    redis.on('error', (error: Error & { code?: string }) => {
      this.lastError = `it could not be reached (${error.code ?? error.name})`
    })
    redis.on('close', () => {
      onLost(this.lastError)
      this.lastError = 'the connection was closed'
    })
    // The command was defined above.
    this.redis = redis as CountingRedis
  }

  /**
   * Counts requests in one atomic call.
   *
   * @param notAfterMs time by Redis' clock after which the call must count nothing
   */
  count(wanted: readonly QuotaRequest[], notAfterMs: number, answered: OnReply): void {
    const keys = wanted.map(({ subject }) => QUOTA_KEY_PREFIX + subject)
    this.redis.countAdmissions(makeArgs(keys, wanted, notAfterMs), replyTo(answered))
  }

  /**
   * As `count`, with keys that the caller names, all in one slot of a cluster.
   *
   * @param isAsking whether the node is to look for the keys although it does not have the slot yet
   */
  countKeys(
    keys: readonly string[],
    wanted: readonly QuotaRequest[],
    { notAfterMs, isAsking }: { readonly notAfterMs: number; readonly isAsking: boolean },
    answered: OnReply,
  ): void {
    const args = makeArgs(keys, wanted, notAfterMs)
    if (!isAsking) {
      this.redis.countAdmissions(args, replyTo(answered))
      return
    }
    // `ASKING` holds for the next command alone, so the script is sent whole and not by its hash.
    this.redis.asking().catch(() => undefined)
    const [number = 0, ...rest] = args
    this.redis.eval(this.script, number, ...rest, replyTo(answered))
  }

  /** Sends the calls of `send` with one write. */
  together(send: () => void): void {
    const { stream } = this.redis
    stream?.cork()
    send()
    stream?.uncork()
  }

  /** Gives the connection up, with all calls that have no reply, and makes another one. */
  renew(): void {
    this.redis.disconnect(true)
  }

  /** Notes that the connection is good: after its loss, the first attempts follow soon. */
  settle(): void {
    this.attempts = 0
  }

  close(): void {
    this.redis.disconnect()
  }
}

function makeArgs(
  keys: readonly string[],
  wanted: readonly QuotaRequest[],
  notAfterMs: number,
): (string | number)[] {
  const args: (string | number)[] = [keys.length, ...keys, notAfterMs]
  for (const { quota, requests } of wanted) args.push(quota, requests)
  return args
}

function replyTo(answered: OnReply): CountingCallback {
  return (error, answer) => {
    if (error) answered(null, formatRefusal(error), error)
    else answered(answer as number[], '')
  }
}

/** The first word of a reply is its code; the rest may quote what was sent. */
function formatRefusal({ message }: Error): string {
  const code = /^[A-Z]+\b/.exec(message)?.[0] ?? 'no connection'
  const isCluster = code === 'MOVED' || code === 'CROSSSLOT'
  return `it refused a call (${code})${isCluster ? '; name a cluster by redis+cluster://' : ''}`
}

/** Milliseconds since 1970 by Redis' own clock, the one clock of all replicas. */
const REDIS_TIME = `(function()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end)()`

/** Nodes of a cluster may differ by this: clocks that are kept by NTP differ by far less. */
const SKEW_MS_MAX = 2_000

const COUNTING = readFileSync(new URL('./script.lua', import.meta.url), 'utf8')

/**
 * The script that counts requests of any number of subjects, atomically.
 *
 * KEYS are the subjects' logs. ARGV holds the last moment at which the call may count, and then for
 * each key its quota and the number of requests wanted. The answer holds the time; and then for
 * each key how many are admitted, how many are in the window with them, and the milliseconds until
 * there is room again, 0 if there is. A call that comes too late counts nothing and answers the
 * time alone.
 *
 * A log is a LIST of runs. A run is a millisecond in which requests were admitted, and the number
 * of all requests up to its end, in one integer of 53 bits: `counted * STAMPS + millisecond %
 * STAMPS`. The element before the first run holds what had left before it, so that the difference
 * of two elements counts all between them: nothing is summed up. A run takes 10 bytes, so a
 * saturated quota of 1,000 at most 10 KB, and no quota more than the 60,000 runs that a window can
 * hold.
 *
 * The 70 minutes of STAMPS tell a run's age, since a log expires a window after its last admission;
 * ages of more than half of it are negative ones. If the last run is at most `SKEW_MS_MAX` ahead,
 * the log came from a node whose clock is a little ahead: the time of that run counts as now until
 * this clock is there, so that nothing is counted longer than a window and that difference. If it
 * is further ahead, the clock was set back: the log is restamped as if all were admitted now, which
 * never admits too many, and forgets within a window.
 *
 * @param nowLua expression for the time, for tests that have a clock of their own
 */
function makeCountingScript(nowLua: string = REDIS_TIME): string {
  return `
local WINDOW, STAMPS, COUNTS, SKEW = ${WINDOW_MS}, ${2 ** 22}, ${2 ** 31}, ${SKEW_MS_MAX}
local now = ${nowLua}
${COUNTING}`
}
