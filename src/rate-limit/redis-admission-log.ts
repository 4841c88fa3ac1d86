import type { Redis } from 'ioredis'
import { openRedis } from '../platform/redis.ts'
import { countingScript } from './script.ts'

/** Requests of one subject that are counted by one call. */
export interface QuotaRequest {
  readonly subject: string
  readonly quota: number
  readonly requests: number
}

/** Receives the numbers that the script returns; null with the reason if the call failed. */
export type OnReply = (answer: readonly number[] | null, failure: string) => void

interface RedisAdmissionLogOptions {
  readonly url: string
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

const QUOTA_KEY_PREFIX = 'scoreline:quota:'
/** Longest time from a connection to its first reply; later it is given up. */
const GREETING_TIMEOUT_MS = 500
const RETRY_MS_MIN = 100
const RETRY_MS_MAX = 1_000

/**
 * The admissions of all subjects in Redis, over one connection.
 *
 * *Connecting*, until `onOpen`; *open*, until `onLost`; then *connecting* again, by itself, after
 * 0.1 to 1 s: longer for each time since `settle` was called. No call outlives its connection.
 */
export class RedisAdmissionLog {
  private readonly redis: CountingRedis
  private attempts = 0
  private lastError = 'it could not be reached'
  private greeting: NodeJS.Timeout | undefined

  constructor({ url, onOpen, onLost, nowLua }: RedisAdmissionLogOptions) {
    const redis = openRedis(url, 'quota', () =>
      Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** this.attempts++),
    )
    redis.defineCommand('countAdmissions', { lua: countingScript(nowLua) })
    redis.on('connect', () => {
      clearTimeout(this.greeting)
      this.greeting = setTimeout(() => this.renew(), GREETING_TIMEOUT_MS)
    })
    redis.on('ready', () => {
      clearTimeout(this.greeting)
      onOpen()
    })
    redis.on('error', (error: Error & { code?: string }) => {
      this.lastError = `it could not be reached (${error.code ?? error.name})`
    })
    redis.on('close', () => {
      clearTimeout(this.greeting)
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
    const args: (string | number)[] = [wanted.length]
    for (const { subject } of wanted) args.push(QUOTA_KEY_PREFIX + subject)
    args.push(notAfterMs)
    for (const { quota, requests } of wanted) args.push(quota, requests)
    this.redis.countAdmissions(args, (error, answer) => {
      if (error) answered(null, `it refused a call (${replyCode(error)})`)
      else answered(answer as number[], '')
    })
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
    clearTimeout(this.greeting)
    this.redis.disconnect()
  }
}

/** The first word of a reply is its code; the rest may quote what was sent. */
function replyCode({ message }: Error): string {
  return /^[A-Z]+\b/.exec(message)?.[0] ?? 'no connection'
}
