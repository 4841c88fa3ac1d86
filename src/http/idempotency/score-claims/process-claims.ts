import type { Clock } from '../../../platform/clock.ts'
import { Periodic } from '../../../platform/periodic.ts'
import { KEPT_MS } from '../store.ts'
import type { Right } from './claims-mode.ts'
import type { OnClaimReply } from './redis-claims.ts'
import type { ClaimChange, ClaimReply, HeldInRedis, ScoreClaim } from './score-claim.ts'
import { SeenKeys } from './seen-keys.ts'

interface ProcessClaimsOptions {
  readonly clock: Clock
  /** Tells whether the scores that were logged before are in the database. */
  readonly areDrainedSince: (sinceMs: number) => boolean
  /** Gives the keys of the last day that the database has, and further ones. */
  readonly readKeys: () => AsyncIterable<readonly Pick<ScoreClaim, 'keyHash'>[]>
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
/** Longest time that requests wait for scores which the process before has left to be drained. */
const LEFTOVERS_MS = 3_000
/** Of the keys that this process has: it loses none before it ends. */
const MARK = ''
const RIGHT: Right = { mode: 'fast', mark: MARK }
/** The mode of the only process: it has nothing to agree on. */
export const ONLY_MODE = {
  right: RIGHT,
  waitForRight: async () => RIGHT,
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
 * like those that the database had at the start: of a seen key only the database can say what
 * became of it. Until the seen keys are read, it has to say that of each key.
 */
export class ProcessClaims {
  private readonly options: ProcessClaimsOptions
  private readonly claimed = new Map<string, Entry>()
  /** Logged since the last turn, and before it. */
  private logged = new Map<string, Entry>()
  private loggedBefore = new Map<string, Entry>()
  private turnedAtMs: number
  private readonly seen: SeenKeys
  private hasRead = false
  private readonly rounds: Periodic
  /** Resolves once scores of the process before are in the database; null then. */
  private leftovers: Promise<void> | null

  constructor(options: ProcessClaimsOptions) {
    this.options = options
    const { clock, onFailed } = options
    this.turnedAtMs = clock.monotonicMs()
    this.seen = new SeenKeys(this.turnedAtMs)
    this.leftovers = this.awaitLeftovers().then(() => {
      this.leftovers = null
    })
    this.rounds = new Periodic({ round: () => this.round(), everyMs: ROUND_MS, onFailed }).start(0)
  }

  /** Claims a key, or tells who has it. */
  async claim(claim: ScoreClaim): Promise<ClaimReply> {
    await this.leftovers
    return this.claimNow(claim)
  }

  /** As `claim`. */
  claimEarly(claim: ScoreClaim, onReply: OnClaimReply): void {
    if (this.leftovers === null) onReply(this.claimNow(claim))
    else void this.claim(claim).then(onReply)
  }

  private claimNow(claim: ScoreClaim): ClaimReply {
    const nowMs = this.options.clock.monotonicMs()
    const name = nameKey(claim)
    const held = this.find(name, nowMs)
    if (held !== null) return held.requestId === claim.requestId ? FREE : { held, mark: MARK }
    const isNew = this.hasRead && !this.seen.has(claim.keyHash)
    this.seen.add(claim.keyHash, nowMs)
    if (!isNew) return STORED
    const { bodyTag, requestId } = claim
    this.claimed.set(name, { bodyTag, requestId, sinceMs: nowMs })
    return FREE
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

  private log(claim: ScoreClaim): boolean {
    const name = nameKey(claim)
    const held = this.claimed.get(name)
    if (held?.requestId !== claim.requestId) return false
    this.claimed.delete(name)
    this.logged.set(name, held)
    return true
  }

  private find(name: string, nowMs: number): HeldInRedis | null {
    const claimed = this.claimed.get(name)
    const held = claimed ?? this.logged.get(name) ?? this.loggedBefore.get(name)
    if (held === undefined) return null
    const { bodyTag, requestId, sinceMs } = held
    const ageMs = nowMs - sinceMs
    if (ageMs >= KEPT_MS) return null
    return { state: claimed === undefined ? 'logged' : 'claimed', bodyTag, requestId, ageMs }
  }

  private async round(): Promise<void> {
    if (!this.hasRead) {
      await this.leftovers
      for await (const page of this.options.readKeys()) {
        if (this.rounds.signal.aborted) return
        const nowMs = this.options.clock.monotonicMs()
        for (const { keyHash } of page) this.seen.add(keyHash, nowMs)
      }
      this.hasRead = true
    }
    this.turn()
  }

  /** Forgets the keys that were logged before the last turn, once the database has them. */
  private turn(): void {
    if (!this.options.areDrainedSince(this.turnedAtMs)) return
    this.loggedBefore = this.logged
    this.logged = new Map()
    this.turnedAtMs = this.options.clock.monotonicMs()
  }

  private async awaitLeftovers(): Promise<void> {
    const { areDrainedSince, clock } = this.options
    const startedAtMs = clock.monotonicMs()
    while (!areDrainedSince(startedAtMs) && clock.monotonicMs() < startedAtMs + LEFTOVERS_MS) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  }
}

function nameKey({ keyHash }: ScoreClaim): string {
  return Buffer.from(keyHash.buffer, keyHash.byteOffset, keyHash.length).toString('latin1')
}
