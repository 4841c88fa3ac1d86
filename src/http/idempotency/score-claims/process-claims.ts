import type { Clock } from '../../../platform/clock.ts'
import { Periodic } from '../../../platform/periodic.ts'
import { KEPT_MS } from '../store.ts'
import { ONLY_LEASE } from './agreement.ts'
import type { OnClaimReply } from './redis-claims.ts'
import type { ClaimChange, ClaimReply, HeldClaim, ScoreClaim } from './score-claim.ts'
import { SEEN_BYTES, SeenKeys } from './seen-keys.ts'

/** Scores that wait for the database. */
export interface WaitingScores<Mark = unknown> {
  /** Names all that wait now. */
  mark(): Mark
  /** Tells whether the database has what waited then. */
  isDrainedTo(mark: Mark): boolean
  /** Reads the hashes of the keys of those that wait at the call. */
  readKeys(): AsyncIterable<Uint8Array>
}

interface ProcessClaimsOptions {
  readonly clock: Clock
  readonly waiting: WaitingScores
  /** Resolves once the spool knows what the database has of it. */
  readonly ready: Promise<unknown>
  /** Reads the keys of the last day that the database has: `SEEN_BYTES` of each hash, in pages. */
  readonly readStored: () => AsyncIterable<Uint8Array>
  readonly onFailed: (error: unknown) => void
}

interface Entry {
  readonly bodyTag: string
  readonly requestId: string
  /** When it was claimed, by the monotonic clock. */
  readonly sinceMs: number
}

const ROUND_MS = 1_000
const LOOK_MS = 20
/** Longest time that a request waits for a score which the process before has left. */
const WAIT_MS = 3_000
/** So long it is tried to read the keys that were left; then they are done without. */
const READ_MS = 30_000
/** Of the keys that this process has: it loses none before it ends. */
const MARK = ONLY_LEASE.mark
/** The mode of the only process: it has nothing to agree on. */
export const ONLY_MODE = {
  right: ONLY_LEASE,
  waitForRight: async () => ONLY_LEASE,
  confirm: async () => true,
  lose: () => undefined,
  hasFastKeys: true,
  isInRedis: false,
}
const FREE: ClaimReply = { held: null, mark: MARK }
const STORED: ClaimReply = {
  held: { state: 'stored', bodyTag: '', requestId: '', ageMs: 0 },
  mark: MARK,
}

/**
 * The keys of scores in the memory of this process, which is the only one of its database.
 *
 * A key is *claimed* while its score is executed; *logged* until the database has it; then *seen*,
 * like those that the database had at the start: only the database can say what became of a seen
 * key. Until the seen keys are read, it has to say that of each key. A key is *left* if the process
 * before has logged its score and the database does not have it yet: its request has to come again.
 */
export class ProcessClaims {
  private readonly options: ProcessClaimsOptions
  private readonly claimed = new Map<string, Entry>()
  /** Logged since the last turn. */
  private logged = new Map<string, Entry>()
  /** Logged in the turn before. */
  private loggedBefore = new Map<string, Entry>()
  private turnMark: unknown
  private readonly seen: SeenKeys
  private hasReadStored = false
  /** Null once the database has all of them. */
  private left: SeenKeys | null
  private hasReadLeft = false
  private readonly rounds: Periodic

  constructor(options: ProcessClaimsOptions) {
    this.options = options
    const { clock, waiting, onFailed } = options
    this.turnMark = waiting.mark()
    this.seen = new SeenKeys(clock.monotonicMs())
    const left = new SeenKeys(clock.monotonicMs())
    this.left = left
    this.rounds = new Periodic({ round: () => this.round(), everyMs: ROUND_MS, onFailed })
    void this.followLeft(left)
  }

  /** Claims a key, or tells who has it. */
  async claim(claim: ScoreClaim): Promise<ClaimReply> {
    const untilMs = performance.now() + WAIT_MS
    while (this.mayBeLeft(claim) && performance.now() < untilMs) await pause(LOOK_MS)
    return this.claimNow(claim)
  }

  /** As `claim`. */
  claimEarly(claim: ScoreClaim, onReply: OnClaimReply): void {
    if (this.mayBeLeft(claim)) void this.claim(claim).then(onReply)
    else onReply(this.claimNow(claim))
  }

  /** @returns false if the key no longer belongs to its request */
  async change(claim: ScoreClaim, change: ClaimChange): Promise<boolean> {
    if (change === 'logged') return this.log(claim)
    const name = nameKey(claim)
    if (this.claimed.get(name)?.requestId !== claim.requestId) return false
    if (change === 'free') this.claimed.delete(name)
    else {
      const { bodyTag, requestId } = change
      const sinceMs = this.options.clock.monotonicMs()
      this.claimed.set(name, { bodyTag, requestId, sinceMs })
    }
    return true
  }

  noteLogged(claim: ScoreClaim, onNoted: () => void): void {
    this.log(claim)
    onNoted()
  }

  async close(): Promise<void> {
    await this.rounds.close()
  }

  private mayBeLeft({ keyHash }: ScoreClaim): boolean {
    return this.left !== null && (!this.hasReadLeft || this.left.has(keyHash))
  }

  private claimNow(claim: ScoreClaim): ClaimReply {
    const { keyHash, bodyTag, requestId } = claim
    const nowMs = this.options.clock.monotonicMs()
    const name = nameKey(claim)
    const held = this.find(name, nowMs)
    if (held !== null) return held.requestId === requestId ? FREE : { held, mark: MARK }
    if (this.mayBeLeft(claim)) {
      return { held: { state: 'claimed', bodyTag, requestId: '', ageMs: 0 }, mark: MARK }
    }
    if (!this.hasReadStored) this.seen.add(keyHash, nowMs)
    if (!this.hasReadStored || this.seen.has(keyHash)) return STORED
    this.claimed.set(name, { bodyTag, requestId, sinceMs: nowMs })
    return FREE
  }

  private log(claim: ScoreClaim): boolean {
    const name = nameKey(claim)
    const held = this.claimed.get(name)
    if (held?.requestId !== claim.requestId) return false
    this.claimed.delete(name)
    this.logged.set(name, held)
    this.seen.add(claim.keyHash, this.options.clock.monotonicMs())
    return true
  }

  private find(name: string, nowMs: number): HeldClaim | null {
    const claimed = this.claimed.get(name)
    const held = claimed ?? this.logged.get(name) ?? this.loggedBefore.get(name)
    if (held === undefined) return null
    const { bodyTag, requestId, sinceMs } = held
    const ageMs = nowMs - sinceMs
    if (ageMs >= KEPT_MS) return null
    return { state: claimed === undefined ? 'logged' : 'claimed', bodyTag, requestId, ageMs }
  }

  private async round(): Promise<void> {
    // It begins once the keys that were left are read: those that are drained since are seen, too.
    if (!this.hasReadStored) {
      for await (const page of this.options.readStored()) {
        if (this.rounds.signal.aborted) return
        const nowMs = this.options.clock.monotonicMs()
        for (let at = 0; at < page.length; at += SEEN_BYTES) {
          this.seen.add(page.subarray(at, at + SEEN_BYTES), nowMs)
        }
      }
      this.hasReadStored = true
    }
    this.turn()
  }

  /** Forgets the keys that were logged before the last turn, once the database has them. */
  private turn(): void {
    const { waiting } = this.options
    if (!waiting.isDrainedTo(this.turnMark)) return
    this.loggedBefore = this.logged
    this.logged = new Map()
    this.turnMark = waiting.mark()
  }

  /** Reads the keys of scores that the process before has left, until the database has them. */
  private async followLeft(left: SeenKeys): Promise<void> {
    const { waiting, ready } = this.options
    await ready.catch(() => undefined)
    const mark = waiting.mark()
    this.turnMark = mark
    const { signal } = this.rounds
    const untilMs = performance.now() + READ_MS
    while (!(await this.readLeft(left)) && performance.now() < untilMs) {
      if (signal.aborted || waiting.isDrainedTo(mark)) break
      await pause(ROUND_MS)
    }
    if (signal.aborted) return
    this.hasReadLeft = true
    this.rounds.start(0)
    while (!waiting.isDrainedTo(mark)) {
      await pause(LOOK_MS)
      if (signal.aborted) return
    }
    this.left = null
  }

  /** @returns false if it failed */
  private async readLeft(left: SeenKeys): Promise<boolean> {
    const { waiting, clock, onFailed } = this.options
    try {
      for await (const keyHash of waiting.readKeys()) {
        const nowMs = clock.monotonicMs()
        left.add(keyHash, nowMs)
        this.seen.add(keyHash, nowMs)
      }
      return true
    } catch (error) {
      onFailed(error)
      return false
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

function nameKey({ keyHash }: ScoreClaim): string {
  return Buffer.from(keyHash.buffer, keyHash.byteOffset, keyHash.length).toString('latin1')
}
