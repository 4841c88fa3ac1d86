import type { Redis } from 'ioredis'
import { backOffMs } from '../../../platform/back-off.ts'
import { CallGroups } from '../../../platform/db/call-groups.ts'
import { openRedis } from '../../../platform/redis.ts'
import { type RedisRide, type Rider, readRun } from '../../../platform/redis-ride.ts'
import {
  formatChanges,
  formatClaims,
  formatLoaded,
  type KeyChange,
  type KeyClaim,
  readReplies,
  readScript,
} from './claim-records.ts'
import type { ClaimChange, ClaimReply, LoadedKey, ScoreClaim } from './score-claim.ts'

/** Receives the reply to a claim; null: there is none, and the claim may have been made or not. */
export type OnClaimReply = (reply: ClaimReply | null) => void

interface RedisClaimsOptions {
  readonly url: string
  /** Carries claims to the same Redis. */
  readonly ride: RedisRide
  /** Names the database: others may use the same Redis. */
  readonly place: string
  /** Called for a connection to a Redis that can have keys, with the name of its run. */
  readonly onOpen: (run: string) => void
  /** Called when the connection is lost, or Redis can't have keys, with the reason. */
  readonly onLost: (reason: string) => void
}

interface ClaimingRedis extends Redis {
  claimKeysBuffer(mark: string, prefix: string, records: Buffer): Promise<(Buffer | number)[]>
  changeKeys(prefix: string, records: Buffer): Promise<number[]>
  loadKeys(mark: string, prefix: string, loading: string, records: Buffer): Promise<number>
}

interface EarlyClaim extends KeyClaim {
  readonly onReply: OnClaimReply
}

const PREFIX = 'scoreline:keys:'
/** Longest time that a request waits for Redis. */
const DEADLINE_MS = 1_000
/** The same for a request that waits for others before. */
const WAIT_MS = 2 * DEADLINE_MS
/** Keys of a call: Redis does nothing else meanwhile. */
const GROUP_MAX = 128
const GROUPS_AT_ONCE = 4
const UNNOTED_MAX = 10_000
const PAUSES = { minMs: 20, maxMs: 1_000 }
const CLAIM_KEYS = { lua: readScript('claim'), numberOfKeys: 2 }

/**
 * The keys of scores in Redis, over one connection, but for claims that leave with the quota's calls.
 *
 * A key is a field of one of 65,536 small hashes for each day, with its state, when it was claimed,
 * the tag of its body and the id of its request. Of two million keys each takes 75 bytes; of 100,000,
 * which have a hash for two, 170. It is there for a day.
 *
 * *Connecting*, until `onOpen`; *open*, until `onLost`; then *connecting* again, by itself. No call
 * outlives a connection: what Redis may have lost is seen at the next one, or by the mark.
 */
export class RedisClaims implements Rider {
  private readonly redis: ClaimingRedis
  private readonly onOpen: RedisClaimsOptions['onOpen']
  private readonly onLost: RedisClaimsOptions['onLost']
  private readonly redisRide: RedisRide
  private attempts = 0
  private run: string | null = null
  private readonly prefix: string
  private readonly claims = new CallGroups({
    run: (claims: readonly KeyClaim[]) => this.claimAll(claims),
    weightMax: GROUP_MAX,
    deadlineMs: WAIT_MS,
    groupsAtOnce: GROUPS_AT_ONCE,
  })
  private readonly changes = new CallGroups({
    run: (changes: readonly KeyChange[]) => this.changeAll(changes),
    weightMax: GROUP_MAX,
    deadlineMs: WAIT_MS,
    groupsAtOnce: GROUPS_AT_ONCE,
  })
  /** Claims that wait for a ride. */
  private early: EarlyClaim[] = []
  /** Claims whose note was lost with the connection. */
  private unnoted: ScoreClaim[] = []
  private notes: { readonly claim: ScoreClaim; readonly onSent: () => void }[] = []

  constructor({ url, ride, place, onOpen, onLost }: RedisClaimsOptions) {
    this.prefix = `${PREFIX}{${place}}:`
    this.onOpen = onOpen
    this.onLost = onLost
    const redis = openRedis(url, 'keys', () => backOffMs(PAUSES, this.attempts++))
    redis.defineCommand('claimKeys', CLAIM_KEYS)
    redis.defineCommand('changeKeys', { lua: readScript('change'), numberOfKeys: 1 })
    redis.defineCommand('loadKeys', { lua: readScript('load'), numberOfKeys: 2 })
    redis.on('ready', () => void this.greet())
    redis.on('close', () => this.lose('the connection was closed'))
    // The commands were defined above.
    this.redis = redis as ClaimingRedis
    this.redisRide = ride
    ride.rider = this
  }

  /**
   * Claims a key, or finds out who has it. Calls of a turn of the event loop go together.
   *
   * @throws Error if Redis is away
   */
  claim(claim: ScoreClaim, state: 'claimed' | 'stored'): Promise<ClaimReply> {
    return this.claims.call({ claim, state })
  }

  /**
   * As `claim`, for a request whose quota is asked in the same turn of the event loop: where that
   * takes a call to Redis, the two leave together.
   */
  claimEarly(claim: ScoreClaim, onReply: OnClaimReply): void {
    this.early.push({ claim, state: 'claimed', onReply })
    if (this.early.length === 1) {
      setImmediate(() => {
        if (!this.redisRide.isExpected) this.stay()
      })
    }
  }

  ride(redis: Redis): void {
    // Another run does not have the claims that were made before.
    if (this.run === null || this.redisRide.run !== this.run) {
      this.stay()
      return
    }
    const { early } = this
    this.early = []
    for (let at = 0; at < early.length; at += GROUP_MAX) {
      this.claimOver(redis, early.slice(at, at + GROUP_MAX))
    }
  }

  stay(): void {
    const { early } = this
    this.early = []
    for (const { claim, onReply } of early) {
      this.claim(claim, 'claimed').then(onReply, () => onReply(null))
    }
  }

  private claimOver(redis: Redis, early: readonly EarlyClaim[]): void {
    const riding = redis as ClaimingRedis
    if (!('claimKeys' in redis)) riding.defineCommand('claimKeys', CLAIM_KEYS)
    let isOver = false
    const end = (replies: readonly ClaimReply[]) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      for (const [at, { onReply }] of early.entries()) onReply(replies[at] ?? null)
    }
    const timer = setTimeout(end, DEADLINE_MS, [])
    const { markName, prefix } = this
    const records = formatClaims(early)
    riding.claimKeysBuffer(markName, prefix, records).then(
      (answer) => end(readReplies(answer, early.length)),
      () => end([]),
    )
  }

  /**
   * Changes a claim.
   *
   * @returns false if the key no longer belongs to its request
   * @throws Error if Redis is away
   */
  change(claim: ScoreClaim, change: ClaimChange): Promise<boolean> {
    return this.changes.call({ claim, change })
  }

  /**
   * Notes that a score is logged. Notes of one turn go together, before its microtasks are done: an
   * answer that is sent by `onSent` leaves after its note, also if the process then dies. A note
   * that is lost with the connection is sent again over the next one.
   */
  noteLogged(claim: ScoreClaim, onSent: () => void): void {
    this.notes.push({ claim, onSent })
    if (this.notes.length === 1) queueMicrotask(() => this.sendNotes())
  }

  private sendNotes(): void {
    const { notes } = this
    this.notes = []
    this.note(notes.map(({ claim }) => claim))
    for (const { onSent } of notes) onSent()
  }

  private note(claims: readonly ScoreClaim[]): void {
    const keep = () => {
      this.unnoted.push(...claims.slice(0, UNNOTED_MAX - this.unnoted.length))
    }
    if (this.run === null) keep()
    else this.changeAll(claims.map((claim) => ({ claim, change: 'logged' }) as const)).catch(keep)
  }

  /** Begins to load the keys of the database. The mark names the load, until `endLoading` also. */
  async beginLoading(mark: string): Promise<void> {
    await this.strictly(this.redis.set(this.markName, `loading ${mark}`))
  }

  /** @returns false if Redis has lost keys since `beginLoading`, or another process loads them */
  async load(mark: string, keys: readonly LoadedKey[]): Promise<boolean> {
    const { markName, prefix } = this
    const load = this.redis.loadKeys(markName, prefix, `loading ${mark}`, formatLoaded(keys))
    return (await this.strictly(load)) === 1
  }

  /** Says that Redis has all keys. @returns false as `load` */
  async endLoading(mark: string): Promise<boolean> {
    const script = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
      redis.call('SET', KEYS[1], ARGV[2]) return 1`
    const args = [this.markName, `loading ${mark}`, mark] as const
    return (await this.strictly(this.redis.eval(script, 1, ...args))) === 1
  }

  /** Looks again whether Redis can have keys: its settings may change. */
  async look(): Promise<void> {
    if (this.redis.status === 'ready') await this.greet()
  }

  close(): void {
    this.run = null
    this.redis.disconnect()
  }

  private get markName(): string {
    return `${this.prefix}complete`
  }

  private async greet(): Promise<void> {
    try {
      // A Redis that is full, loads its file, or can't write it, answers and takes no keys.
      await this.strictly(this.redis.set(`${this.prefix}probe`, ''))
      const info = await this.strictly(this.redis.info())
      const read = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
      const policy = read('maxmemory_policy')
      const run = readRun(info)
      if (run === null) this.lose('it does not say its run_id')
      else if (read('maxmemory') !== '0' && policy !== 'noeviction') {
        this.lose(`its maxmemory-policy is ${policy}: it may lose keys, set noeviction`)
      } else if (this.redis.status === 'ready' && this.run !== run) {
        this.attempts = 0
        this.run = run
        for (let at = this.unnoted.length; at > 0; at -= GROUP_MAX) {
          this.note(this.unnoted.splice(Math.max(0, at - GROUP_MAX)))
        }
        this.onOpen(run)
      }
    } catch (error) {
      this.lose(error instanceof Error ? error.message : 'it does not answer')
    }
  }

  private lose(reason: string): void {
    this.run = null
    this.onLost(reason)
  }

  /** A call that is given up may still be executed: the next connection comes after it. */
  private async strictly<T>(call: Promise<T>): Promise<T> {
    try {
      return await withDeadline(call)
    } catch (error) {
      if (this.redis.status === 'ready') this.redis.disconnect(true)
      throw error
    }
  }

  private async claimAll(claims: readonly KeyClaim[]): Promise<ClaimReply[]> {
    const { markName, prefix } = this
    const claiming = this.redis.claimKeysBuffer(markName, prefix, formatClaims(claims))
    return readReplies(await this.strictly(claiming), claims.length)
  }

  private async changeAll(changes: readonly KeyChange[]): Promise<boolean[]> {
    const lost = await this.strictly(this.redis.changeKeys(this.prefix, formatChanges(changes)))
    return changes.map((_change, at) => !lost.includes(at + 1))
  }
}

function withDeadline<T>(call: Promise<T>): Promise<T> {
  const overdue = Promise.withResolvers<never>()
  const timer = setTimeout(() => overdue.reject(new Error('it does not answer')), DEADLINE_MS)
  return Promise.race([call, overdue.promise]).finally(() => clearTimeout(timer))
}
