import type { Caller, IdempotencyClaim } from '../../access/caller.ts'
import type { AskedHash, AskedHashes } from '../asked-hashes.ts'
import type { Begun, Claimed, ClaimedScore, KeyCounts } from '../begun.ts'
import { EarlyClaim } from './early-claim.ts'
import { formatTag, type ScoreClaim } from './score-claim.ts'
import type { FoundClaim, KeyedScore, ScoreClaims } from './score-claims.ts'

interface KeyedScoresOptions {
  readonly claims: ScoreClaims
  /** Claims keys in the database. */
  readonly stored: {
    /** @returns null if the database fails, or was silent just now */
    attempt<T>(call: () => Promise<T>): Promise<T | null>
    claim(hashes: AskedHashes, score: AskedScore): Promise<Begun>
    release(claim: IdempotencyClaim): Promise<void>
  }
  readonly room: {
    hasRoomForScore(teamId: string): boolean
    noteScore(teamId: string): void
  }
  readonly counts: KeyCounts
}

/** The part of a request for a score that a claim needs. */
export type ClaimingScore = Pick<KeyedScore, 'requestId' | 'isLogged'>

/** A request for a score, and who sent it. */
export interface AskedScore extends KeyedScore {
  readonly caller: Caller
}

/** Changes of the mode that a request follows. */
const ATTEMPTS_MAX = 4

/**
 * Executes a score with an `Idempotency-Key` once. Its key is claimed where all processes have
 * agreed to claim keys; its answer is made again from the log, or kept like any other if the key was
 * claimed in the database.
 */
export class KeyedScores {
  private readonly options: KeyedScoresOptions

  constructor(options: KeyedScoresOptions) {
    this.options = options
  }

  /** True where a claim takes no statement of the database. */
  get canBeginEarly(): boolean {
    return this.options.claims.right?.mode === 'fast'
  }

  beginEarly(hashes: AskedHashes, score: ClaimingScore): EarlyClaim | null {
    const { claims } = this.options
    const { right } = claims
    if (right?.mode !== 'fast') return null
    const early = new EarlyClaim(hashes, right)
    const { isLogged } = score
    claims.claimEarly({ claim: makeClaim(hashes, score), right, isLogged }, (found) =>
      early.settle(found),
    )
    return early
  }

  /** @returns null if `begin` has to find out what becomes of the request */
  takeEarly({ found, hashes }: EarlyClaim, teamId: string): Claimed | null {
    const { room, counts } = this.options
    if (found?.kind !== 'claimed' || !room.hasRoomForScore(teamId)) return null
    counts.claimed++
    return { kind: 'claimed-score', claim: makeClaimed(found, hashes.own) }
  }

  async dropEarly(early: EarlyClaim): Promise<void> {
    const end = await early.wait()
    if (end?.kind === 'claimed') await this.options.claims.release(end.claim)
  }

  /** @throws AppError as `IdempotencyService.begin`, and `unavailable` until the log can be read */
  async begin(hashes: AskedHashes, score: AskedScore, early: EarlyClaim | null): Promise<Begun> {
    const { claims, counts } = this.options
    const { own } = hashes
    const claim = makeClaim(hashes, score)
    let begunEarly = early
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const right = begunEarly?.right ?? claims.right ?? (await claims.waitForRight())
      if (right === null || right.mode === 'fast') {
        const { isLogged } = score
        const found = await (begunEarly?.wait() ?? claims.claimFast({ claim, right, isLogged }))
        begunEarly = null
        if (found === null && right === null) return this.beginUnkept(hashes, score)
        if (found === null) continue
        if (right === null && found.kind === 'claimed') return this.takeUnsure(found, hashes, score)
        if (found.kind !== 'stored') return this.takeFound(found, own, score)
      }
      const begun = await this.beginStored(hashes, score)
      if (begun.kind !== 'claimed') return begun
      const noted = right?.mode === 'both' ? await claims.noteStored(claim, right) : STORED
      const isInForce = right === null || claims.isInForce(right)
      if (noted?.kind === 'stored' && isInForce) return begun
      await this.options.stored.release(begun.claim)
      if (noted !== null && isInForce) return this.takeFound(noted, own, score)
    }
    throw counts.underWayError()
  }

  /** Ends the claim of a score that is logged. `onKept` receives whether it will be given again. */
  keep(claim: ClaimedScore, teamId: string, onKept: (isKept: boolean) => void): void {
    const { room, claims, counts } = this.options
    room.noteScore(teamId)
    claims.settle(claim, (isSure) => {
      if (!isSure) counts.not_kept++
      onKept(isSure)
    })
  }

  /** Ends the claim of a score that was refused or has failed. */
  release(claim: ClaimedScore): Promise<void> {
    return this.options.claims.release(claim)
  }

  /** Claims a key in the database, unless the log has it. */
  private async beginStored(hashes: AskedHashes, score: AskedScore): Promise<Begun> {
    const logged = await this.findLogged(hashes, score)
    return logged === 'unknown'
      ? this.options.counts.notKept()
      : (logged ?? this.options.stored.claim(hashes, score))
  }

  /** Executes a score that can't be claimed anywhere, unless the log has it. */
  private async beginUnkept(hashes: AskedHashes, score: AskedScore): Promise<Begun> {
    const logged = await this.findLogged(hashes, score)
    return logged === 'unknown' || logged === null ? this.options.counts.notKept() : logged
  }

  /** Takes a key of a Redis that may have lost keys, unless the log has it. */
  private async takeUnsure(
    found: Extract<FoundClaim, { kind: 'claimed' }>,
    hashes: AskedHashes,
    score: AskedScore,
  ): Promise<Begun> {
    let isTaken = false
    try {
      const logged = await this.findLogged(hashes, score)
      if (logged !== null && logged !== 'unknown') return logged
      isTaken = true
      return await this.takeFound(found, hashes.own, score)
    } finally {
      if (!isTaken) await this.options.claims.release(found.claim)
    }
  }

  /** @returns null if the log does not have the key */
  private async findLogged(
    hashes: AskedHashes,
    score: AskedScore,
  ): Promise<Begun | null | 'unknown'> {
    const { claims, stored } = this.options
    for (const hash of hashes.all) {
      const looked = await stored.attempt(async () => ({
        found: await claims.findLogged(hash.shortKey),
      }))
      if (looked === null) return 'unknown'
      if (looked.found !== null) return this.takeFound(looked.found, hash, score)
    }
    return null
  }

  private async takeFound(
    found: FoundClaim,
    hash: AskedHash,
    { caller, remake }: AskedScore,
  ): Promise<Begun> {
    const { counts, claims, room } = this.options
    if (found.kind === 'claimed') {
      if (room.hasRoomForScore(caller.teamId)) {
        counts.claimed++
        return { kind: 'claimed-score', claim: makeClaimed(found, hash) }
      }
      await claims.release(found.claim)
      return counts.notKept()
    }
    if (found.kind === 'stored') throw counts.underWayError()
    if (found.bodyTag !== formatTag(hash.bodyTag)) throw counts.reusedError()
    if (found.kind === 'under-way') throw counts.underWayError()
    const answer = await remake(found.requestId)
    if (answer === null) throw counts.unreadError()
    return counts.answeredWith(answer)
  }
}

function makeClaim({ own }: AskedHashes, { requestId }: ClaimingScore): ScoreClaim {
  return { keyHash: own.shortKey, bodyTag: formatTag(own.bodyTag), requestId }
}

function makeClaimed(
  { claim, sureUntilMs }: Extract<FoundClaim, { kind: 'claimed' }>,
  { bodyTag: bodyHash }: AskedHash,
): ClaimedScore {
  const { keyHash, bodyTag, requestId } = claim
  return { keyHash, bodyTag, requestId, logged: { keyHash, bodyHash }, sureUntilMs }
}

const STORED: FoundClaim = { kind: 'stored' }
