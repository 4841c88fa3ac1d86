import type { Redis } from 'ioredis'
import { backOffMs } from '../platform/back-off.ts'
import { openRedis } from '../platform/redis.ts'
import type { Redirect } from '../platform/redis-cluster/replies.ts'
import type { RedisRide } from '../platform/redis-ride.ts'
import { makeCountingScript } from './script.ts'

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
