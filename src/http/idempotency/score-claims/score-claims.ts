import type { Clock } from '../../../platform/clock.ts'
import type { KeptAnswer } from '../sealer.ts'
import { LEASE_MS } from './agreement-store.ts'
import type { ClaimsMode, Right } from './claims-mode.ts'
import type { LoggedKeys } from './logged-keys.ts'
import type { RedisClaims } from './redis-claims.ts'
import { type ClaimReply, formatTag, type HeldClaim, type ScoreClaim } from './score-claim.ts'

/** A request for a single score: the log has what its answer is made of. */
export interface KeyedScore {
  readonly requestId: string
  /**
   * Makes the answer to an earlier request with the same body. It waits some seconds for a score
   * that is on its way to the database.
   *
   * @returns null if the log does not have the request
   */
  readonly remake: (firstId: string) => Promise<KeptAnswer | null>
  /** Tells whether the log has a request, as far as this process can see. */
  readonly isLogged: (firstId: string) => Promise<boolean>
}

/**
 * The state in which a key was found: it is free, and belongs to the request now; its request is
 * under way; its score is logged; or only the database can say.
 *
 * From `sureUntilMs` on another process may have claimed it: milliseconds of the monotonic clock.
 */
export type FoundClaim =
  | { readonly kind: 'claimed'; readonly claim: ScoreClaim; readonly sureUntilMs: number }
  | { readonly kind: 'under-way'; readonly bodyTag: string }
  | { readonly kind: 'logged'; readonly bodyTag: string; readonly requestId: string }
  | { readonly kind: 'stored' }

interface Claiming {
  readonly claim: ScoreClaim
  readonly right: Right | null
  readonly isLogged: (requestId: string) => Promise<boolean>
  readonly reply?: ClaimReply | null
}

interface ScoreClaimsOptions {
  readonly mode: Pick<
    ClaimsMode,
    'right' | 'waitForRight' | 'confirm' | 'lose' | 'hasFastKeys' | 'isInRedis'
  >
  /** In Redis, or in this process; null: only the database has keys. */
  readonly keys: Pick<RedisClaims, 'claim' | 'claimEarly' | 'change' | 'noteLogged'> | null
  readonly logged: Pick<LoggedKeys, 'find'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** So long after its claim no other process can have taken over a score. */
  readonly sureMs?: number
  readonly onFailure: (error: unknown) => void
}

/** A claim of a process that has died ends after this time, unless its score was logged. */
const CLAIM_MS = 30_000
/** A process that was stopped for as long as a lease may count as dead when it goes on. */
const SURE_MS = LEASE_MS - 1_000
/** The same where there is no other process, and no lease. */
export const ONLY_SURE_MS = CLAIM_MS - 1_000
/** Changes of the mode, or of the key's owner, that a request follows. */
const ATTEMPTS_MAX = 5

/**
 * Claims the keys of scores where all processes have agreed to claim them, see `decide`.
 *
 * A key is *claimed* there by one request, until its score is logged or refused; *logged* for a
 * day: then it is never executed again; or *stored*: the database has it. A claim of 30 s whose
 * score the log does not have belongs to a process that has died: the next request takes it over.
 */
export class ScoreClaims {
  private readonly options: ScoreClaimsOptions
  /** Scores that are executed under a claim in the mode *fast*. */
  open = 0

  constructor(options: ScoreClaimsOptions) {
    this.options = options
  }

  /** The right under which keys are claimed, see `ClaimsMode`; null: there is none now. */
  get right(): Right | null {
    return this.options.mode.right
  }

  /** True while keys are claimed in Redis alone. */
  get areInRedis(): boolean {
    return this.options.mode.isInRedis
  }

  waitForRight(): Promise<Right | null> {
    return this.options.mode.waitForRight()
  }

  /** Tells whether a right is still in force. What was claimed under another one does not count. */
  isInForce(right: Right): boolean {
    return this.options.mode.right === right
  }

  /**
   * Claims a key in the mode *fast*, as `claimFast`, for a request whose quota is asked in the
   * same turn of the event loop.
   *
   * @param onFound is called once, with what `claimFast` returns
   */
  claimEarly(
    { claim, right, isLogged }: Claiming & { readonly right: Right },
    onFound: (found: FoundClaim | null) => void,
  ): void {
    const { keys, clock, sureMs = SURE_MS } = this.options
    if (keys === null) {
      onFound(null)
      return
    }
    const beganAtMs = clock.monotonicMs()
    keys.claimEarly(claim, (reply) => {
      if (reply?.held === null && reply.mark === right.mark && this.isInForce(right)) {
        this.open++
        onFound({ kind: 'claimed', claim, sureUntilMs: beganAtMs + sureMs })
      } else void this.claimFast({ claim, right, isLogged, reply }).then(onFound)
    })
  }

  /**
   * Claims a key in the mode *fast*, and looks after a claim whose process has died. Never rejects.
   *
   * @param right null: the database does not answer
   * @param reply of a claim that was made just now; null: make it
   * @returns null if Redis is away or has lost keys, or the mode has changed
   */
  async claimFast({ claim, right, isLogged, reply }: Claiming): Promise<FoundClaim | null> {
    const { keys, mode, clock, sureMs = SURE_MS, onFailure } = this.options
    if (keys === null) return null
    let known = reply ?? null
    try {
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        const beganAtMs = clock.monotonicMs()
        const { held, mark } = known ?? (await keys.claim(claim, 'claimed'))
        known = null
        if (right !== null && mark !== right.mark) {
          mode.lose(right)
          return null
        }
        if (held === null) {
          // The claim stays: if the request claims its key again, it finds its own.
          if (right !== null && !this.isInForce(right)) return null
          this.open++
          const sureUntilMs = right === null ? Number.NEGATIVE_INFINITY : beganAtMs + sureMs
          return { kind: 'claimed', claim, sureUntilMs }
        }
        const found = await this.judge(held, claim, isLogged)
        if (found !== null) return found
      }
    } catch (error) {
      onFailure(error)
    }
    return null
  }

  /**
   * Notes in Redis that the database has a key, which was claimed there.
   *
   * @param right of the mode *both*
   * @returns what else Redis has of the key; null if Redis is away, or the mode has changed
   */
  async noteStored(claim: ScoreClaim, right: Right): Promise<FoundClaim | null> {
    const { keys, mode, onFailure } = this.options
    if (keys === null) return null
    try {
      const { held, mark } = await keys.claim(claim, 'stored')
      // The load has not begun; or Redis was emptied, and others had claimed keys in it alone.
      if (!mark.endsWith(right.mark) && !(await mode.confirm(right))) return null
      if (held === null || held.state === 'stored') return { kind: 'stored' }
      const { bodyTag, requestId, ageMs } = held
      if (requestId === claim.requestId) return { kind: 'stored' }
      if (held.state === 'logged') return { kind: 'logged', bodyTag, requestId }
      // A claim that is so old belongs to nobody.
      return ageMs >= CLAIM_MS ? { kind: 'stored' } : { kind: 'under-way', bodyTag }
    } catch (error) {
      onFailure(error)
      return null
    }
  }

  /** Finds a key in the log, whose claim may be lost. */
  async findLogged(keyHash: Uint8Array): Promise<FoundClaim | null> {
    const { mode, logged } = this.options
    if (!mode.hasFastKeys) return null
    const found = await logged.find(keyHash)
    if (found === null) return null
    return { kind: 'logged', bodyTag: formatTag(found.bodyHash), requestId: found.requestId }
  }

  /**
   * Ends a claim whose score is logged. `onSent` is called when Redis learns it, or is away, with
   * whether no other process can have executed the score.
   */
  settle(
    claim: ScoreClaim & { readonly sureUntilMs: number },
    onSent: (isSure: boolean) => void,
  ): void {
    this.open--
    const { keys, clock } = this.options
    const isSure = clock.monotonicMs() < claim.sureUntilMs
    if (keys === null) onSent(isSure)
    else keys.noteLogged(claim, () => onSent(isSure))
  }

  /** Ends a claim without a score. If that fails, it ends by its time. */
  async release(claim: ScoreClaim): Promise<void> {
    this.open--
    const { keys, onFailure } = this.options
    await keys?.change(claim, 'free').catch(onFailure)
  }

  /** @returns null if the key may be free now, or belongs to another request */
  private async judge(
    { state, bodyTag, requestId, ageMs }: HeldClaim,
    claim: ScoreClaim,
    isLogged: (requestId: string) => Promise<boolean>,
  ): Promise<FoundClaim | null> {
    if (state === 'stored') return { kind: 'stored' }
    if (state === 'logged') return { kind: 'logged', bodyTag, requestId }
    if (ageMs < CLAIM_MS) return { kind: 'under-way', bodyTag }
    const { keys } = this.options
    const lapsed = { keyHash: claim.keyHash, bodyTag, requestId }
    if (await isLogged(requestId)) {
      await keys?.change(lapsed, 'logged')
      return { kind: 'logged', bodyTag, requestId }
    }
    await keys?.change(lapsed, claim)
    return null
  }
}
