import { readFileSync } from 'node:fs'
import type { Redis } from 'ioredis'
import { backOffMs } from '../../../platform/back-off.ts'
import { CallGroups } from '../../../platform/db/call-groups.ts'
import { openRedis } from '../../../platform/redis.ts'
import type { ScoreClaim } from './score-claim.ts'

/** A key in Redis that is not free. */
export interface HeldInRedis {
  /**
   * A request has claimed it; or its score is logged, and it is never executed again; or the
   * database knows who has it.
   */
  readonly state: 'claimed' | 'logged' | 'stored'
  readonly bodyTag: string
  readonly requestId: string
  /** Since it was claimed, by the clock of Redis. */
  readonly ageMs: number
}

export interface ClaimReply {
  /** Null: the key was free, and belongs to the request now. */
  readonly held: HeldInRedis | null
  /** Of the keys that Redis has, see `RedisClaims.beginLoading`; empty if it has lost them. */
  readonly mark: string
}

/** The end of a claim: its score is logged, its key is free, or another request has it. */
export type ClaimChange = 'logged' | 'free' | ScoreClaim

/** A key of the database. */
export type LoadedKey = Omit<HeldInRedis, 'ageMs'> & {
  readonly keyHash: Uint8Array
  /** Seconds since 1970 when it was claimed. */
  readonly sinceSec: number
}

interface RedisClaimsOptions {
  readonly url: string
  /** Names the database: others may use the same Redis. */
  readonly place: string
  /** Called for a connection to a Redis that can have keys, with the name of its run. */
  readonly onOpen: (run: string) => void
  /** Called when the connection is lost, or Redis can't have keys, with the reason. */
  readonly onLost: (reason: string) => void
}

interface ClaimingRedis extends Redis {
  claimKeysBuffer(mark: string, prefix: string, records: Buffer): Promise<Buffer[]>
  changeKeys(prefix: string, records: Buffer): Promise<number[]>
  loadKeys(mark: string, prefix: string, loading: string, records: Buffer): Promise<number>
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
const DAY_SEC = 24 * 60 * 60
const STATES = { claimed: 'C', logged: 'L', stored: 'S' } as const
/**
 * Records for the scripts, one after the other, each byte a character:
 *
 *     claim  = name | state | rest
 *     change = name | id of the request that has the key | change | rest
 *     loaded = name | state | seconds since 1970, 10 digits | rest
 *     name   = 2 bytes of the key's hash, which name a bucket | 10 bytes, which name a field
 *     rest   = 8 bytes, the tag of the body | 22 characters, the id of a request
 *     change = L, it is logged | D, it is free | C, another request has claimed it
 *
 * A field has state, seconds and rest. A bucket of small hashes takes a third of the memory of keys.
 */
const BYTES = { BUCKET: 2, NAME: 12, TIME_END: 11, ID: 22, REST: 30 }
const ID_PREFIX = 'req_'
const NO_REST = ' '.repeat(BYTES.REST)
const TAG_END = BYTES.TIME_END + BYTES.REST - BYTES.ID
const VALUE_END = BYTES.TIME_END + BYTES.REST
const CONSTANTS = Object.entries({ DAY_SEC, ...BYTES }).map(([name, value]) => `${name} = ${value}`)
const SCRIPT_HEAD = `local ${Object.keys(BYTES).join()}, DAY_SEC\n${CONSTANTS.join('\n')}\n`
const readScript = (name: string) =>
  SCRIPT_HEAD + readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8')

/**
 * The keys of scores in Redis, over one connection.
 *
 * A key is a field of one of 65,536 small hashes for each day, with its state, when it was claimed,
 * the tag of its body and the id of its request. Of two million keys each takes 75 bytes; of 100,000,
 * which have a hash for two, 170. It is there for a day.
 *
 * *Connecting*, until `onOpen`; *open*, until `onLost`; then *connecting* again, by itself. No call
 * outlives its connection: what Redis may have lost is seen at the next one, or by the mark.
 */
export class RedisClaims {
  private readonly redis: ClaimingRedis
  private readonly onOpen: RedisClaimsOptions['onOpen']
  private readonly onLost: RedisClaimsOptions['onLost']
  private attempts = 0
  private run: string | null = null
  private readonly prefix: string
  private readonly claims = new CallGroups({
    run: (
      claims: readonly { readonly claim: ScoreClaim; readonly state: 'claimed' | 'stored' }[],
    ) => this.claimAll(claims),
    weightMax: GROUP_MAX,
    deadlineMs: WAIT_MS,
    groupsAtOnce: GROUPS_AT_ONCE,
  })
  private readonly changes = new CallGroups({
    run: (changes: readonly { readonly claim: ScoreClaim; readonly change: ClaimChange }[]) =>
      this.changeAll(changes),
    weightMax: GROUP_MAX,
    deadlineMs: WAIT_MS,
    groupsAtOnce: GROUPS_AT_ONCE,
  })
  /** Claims whose note was lost with the connection. */
  private unnoted: ScoreClaim[] = []
  private notes: { readonly claim: ScoreClaim; readonly onSent: () => void }[] = []

  constructor({ url, place, onOpen, onLost }: RedisClaimsOptions) {
    this.prefix = `${PREFIX}{${place}}:`
    this.onOpen = onOpen
    this.onLost = onLost
    const redis = openRedis(url, 'keys', () => backOffMs(PAUSES, this.attempts++))
    redis.defineCommand('claimKeys', { lua: readScript('claim'), numberOfKeys: 2 })
    redis.defineCommand('changeKeys', { lua: readScript('change'), numberOfKeys: 1 })
    redis.defineCommand('loadKeys', { lua: readScript('load'), numberOfKeys: 2 })
    redis.on('ready', () => void this.greet())
    redis.on('close', () => this.lose('the connection was closed'))
    // The commands were defined above.
    this.redis = redis as ClaimingRedis
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
    let records = ''
    for (const { keyHash, state, sinceSec, ...request } of keys) {
      const since = String(sinceSec).padStart(BYTES.TIME_END - 1, '0')
      const rest = state === 'stored' ? NO_REST : formatRest(request)
      records += formatName(keyHash) + STATES[state] + since + rest
    }
    const { markName, prefix } = this
    const load = this.redis.loadKeys(markName, prefix, `loading ${mark}`, toBytes(records))
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
      const run = read('run_id')
      if (run === '') this.lose('it does not say its run_id')
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

  private async claimAll(
    claims: readonly { readonly claim: ScoreClaim; readonly state: 'claimed' | 'stored' }[],
  ): Promise<ClaimReply[]> {
    let records = ''
    for (const { claim, state } of claims) {
      records += formatName(claim.keyHash) + STATES[state] + formatRest(claim)
    }
    const { markName, prefix } = this
    const claiming = this.redis.claimKeysBuffer(markName, prefix, toBytes(records))
    const [mark, ...found] = await this.strictly(claiming)
    const heldMark = mark?.toString('latin1') ?? ''
    return found.map((value) => ({
      held: value.length === 0 ? null : readHeld(value.toString('latin1')),
      mark: heldMark,
    }))
  }

  private async changeAll(
    changes: readonly { readonly claim: ScoreClaim; readonly change: ClaimChange }[],
  ): Promise<boolean[]> {
    let records = ''
    for (const { claim, change } of changes) {
      records += formatName(claim.keyHash) + shortId(claim.requestId) + formatChange(change)
    }
    const replies = await this.strictly(this.redis.changeKeys(this.prefix, toBytes(records)))
    return replies.map((reply) => reply === 1)
  }
}

function withDeadline<T>(call: Promise<T>): Promise<T> {
  const overdue = Promise.withResolvers<never>()
  const timer = setTimeout(() => overdue.reject(new Error('it does not answer')), DEADLINE_MS)
  return Promise.race([call, overdue.promise]).finally(() => clearTimeout(timer))
}

function toBytes(records: string): Buffer {
  return Buffer.from(records, 'latin1')
}

function formatName(keyHash: Uint8Array): string {
  return Buffer.from(keyHash.buffer, keyHash.byteOffset, BYTES.NAME).toString('latin1')
}

function formatRest({ bodyTag, requestId }: Omit<ScoreClaim, 'keyHash'>): string {
  return bodyTag + shortId(requestId)
}

function formatChange(change: ClaimChange): string {
  if (change === 'logged') return `L${NO_REST}`
  if (change === 'free') return `D${NO_REST}`
  return `C${formatRest(change)}`
}

function shortId(requestId: string): string {
  return requestId.slice(ID_PREFIX.length)
}

function readHeld(value: string): HeldInRedis {
  const sinceSec = Number(value.slice(1, BYTES.TIME_END))
  const nowSec = Number(value.slice(VALUE_END))
  const letter = value.charAt(0)
  return {
    state: letter === 'C' ? 'claimed' : letter === 'L' ? 'logged' : 'stored',
    bodyTag: value.slice(BYTES.TIME_END, TAG_END),
    requestId: ID_PREFIX + value.slice(TAG_END, VALUE_END),
    ageMs: (nowSec - sinceSec) * 1_000,
  }
}
