import type { Clock } from '../../platform/clock.ts'
import { randomBase62 } from '../../platform/ids.ts'
import { Periodic } from '../../platform/periodic.ts'
import type { Caller, IdempotencyClaim } from '../access/caller.ts'
import { type AskedHash, type AskedHashes, makeHashes } from './asked-hashes.ts'
import { type Begun, type ClaimEnd, type Claimed, KeyCounts } from './begun.ts'
import { CLAIM_PREFIX, type FormerClaim } from './claim-sql.ts'
import type { EarlyClaim } from './score-claims/early-claim.ts'
import { type ClaimingScore, KeyedScores } from './score-claims/keyed-scores.ts'
import type { WaitingScores } from './score-claims/process-claims.ts'
import type { KeyedScore, ScoreClaims } from './score-claims/score-claims.ts'
import { AnswerSealer, type KeptAnswer, type KeyScope } from './sealer.ts'
import type { HashClaim, HeldKey, IdempotencyStore } from './store.ts'
import type { TeamRoom } from './team-room.ts'

/** A request with an `Idempotency-Key`, once its body is there. */
export interface KeyedRequest {
  readonly caller: Caller
  readonly method: string
  /** Path and query, as they were sent. */
  readonly url: string
  readonly key: string
  /** SHA-256 of the body's bytes. */
  readonly bodyDigest: Uint8Array
  /** Absent for a request whose answer the log does not have. */
  readonly score?: KeyedScore | undefined
  /** Of a batch, which the log has without its answer. */
  readonly batch?: ClaimingScore | undefined
  /** The claim that was begun with `beginEarly`. */
  readonly early?: EarlyClaim | null
}

/** A request that the log has once it was executed. */
interface LoggedRequest extends ClaimingScore {
  /** Absent for a batch: its answer can't be made again. */
  readonly remake?: KeyedScore['remake']
}

/** Tells whether a text may be an `Idempotency-Key`: 1 to 255 printable ASCII characters. */
export function isIdempotencyKey(text: string): boolean {
  return PRINTABLE.test(text)
}

interface IdempotencyOptions {
  readonly scoreClaims: ScoreClaims
  readonly store: Pick<IdempotencyStore, 'claim' | 'keep' | 'release' | 'renew'>
  readonly clock: Clock
  /** Scores of this process that the database does not have yet. */
  readonly waiting: Pick<WaitingScores, 'mark' | 'isDrainedTo'>
  /** Divides the room for answers between teams. */
  readonly room: Pick<TeamRoom, 'hasRoom' | 'note' | 'hasRoomForScore' | 'noteScore'>
  /** Key of the service, from which others are derived. */
  readonly secret: string | Buffer
  /** The other one while the secret is rotated; null: there is none. */
  readonly formerSecret: string | null
  /** Receives what made the store fail. */
  readonly onFailure: (error: unknown) => void
}

/** With the value `false` on an answer that will not be given again. */
export const NOT_KEPT_HEADER = 'idempotency-kept'
const PRINTABLE = /^[ -~]{1,255}$/
/** Three renewals fit into the life of a claim. */
const RENEW_EVERY_MS = 8_000
/** A younger claim lives beyond the next round. */
const RENEW_AGE_MS = 2_000
/** Longer than any request takes: an import waits for eight others, of a minute each at most. */
const OPEN_MS_MAX = 15 * 60 * 1000
/**
 * A store that fails only after this time is left alone, so that not every request waits for it.
 */
const SLOW_MS = 1_000
const STORE_PAUSE_MS = 5_000
/**
 * Longer answers are not kept. A batch of 1,000 with 20 contributions each takes less than a
 * quarter.
 */
export const ANSWER_BYTES_MAX = 4 * 1024 * 1024
const CLAIM_ID_CHARS = 20
/** Former claims of one key that a request looks up. */
const ATTEMPTS_MAX = 3

/**
 * Executes a request with an `Idempotency-Key` once, and answers its repetitions with the first
 * answer.
 *
 * States of a key: *free*; *claimed* by one request, which is under way, until it is answered,
 * refused, or its process has not renewed the claim for `CLAIM_MS`; *kept*, with its answer, for
 * `KEPT_MS`; *lost*, when the request has made its change but no answer is kept, for as long. Only
 * a free key is executed. A claim ends in *kept* after a 2xx, and in *free* after any other answer,
 * or when the process dies; if a change was committed under it, it ends in *lost*, since the change
 * must not be made again. A key is not free either if the log has the score or batch of its claim: a
 * score is answered from the log, a batch is *lost*.
 *
 * While the service has two secrets, a key is claimed and kept under the hashes of both, so that
 * replicas which have one of them alone execute no request twice.
 *
 * While the store fails, requests are executed without a claim. They say so.
 */
export class IdempotencyService {
  /** Requests with a key, by what became of them. */
  readonly counts = new KeyCounts()
  /** Set while what is kept takes all the room that it may take. */
  isFull = false
  private readonly options: IdempotencyOptions
  private readonly sealer: AnswerSealer
  private readonly otherSealer: AnswerSealer | null
  private readonly scores: KeyedScores
  /** Claims of this process by their ids. */
  private readonly open = new Map<string, OpenClaim>()
  private readonly renewals: Periodic
  private storeRestsUntilMs = Number.NEGATIVE_INFINITY

  constructor(options: IdempotencyOptions) {
    this.options = options
    const { secret, formerSecret } = options
    this.sealer = new AnswerSealer(secret)
    this.otherSealer = formerSecret === null ? null : new AnswerSealer(formerSecret)
    const { scoreClaims, room } = options
    this.scores = new KeyedScores({
      claims: scoreClaims,
      stored: {
        attempt: async (call) => (this.storeRests ? null : this.attempt(call)),
        claim: (hashes, score) => this.claim(hashes, score),
        release: (claim) => this.release(claim),
      },
      room: {
        hasRoomForScore: (teamId) => !this.isFull && room.hasRoomForScore(teamId),
        noteScore: (teamId) => room.noteScore(teamId),
      },
      counts: this.counts,
    })
    this.renewals = new Periodic({
      round: () => this.renew(),
      everyMs: RENEW_EVERY_MS,
      retryMs: RENEW_EVERY_MS / 4,
      onFailed: options.onFailure,
    }).start()
  }

  /**
   * Claims the key of a request, or finds its answer.
   *
   * @throws AppError `idempotency_key_reused` if the key came with another body,
   *   `idempotency_in_progress` while the first request is under way, `idempotency_answer_lost`
   */
  begin({ bodyDigest, score, batch, early, ...scope }: KeyedRequest): Promise<Begun> {
    const hashes = early?.hashes ?? this.makeHashes(scope, bodyDigest)
    if (score === undefined) return this.claim(hashes, batch)
    return this.scores.begin(hashes, { ...score, caller: scope.caller }, early ?? null)
  }

  /** True while keys of scores can be claimed early: it takes no statement of the database. */
  get canBeginEarly(): boolean {
    return this.scores.canBeginEarly
  }

  /**
   * Begins to claim the key of a score before it is sure that the request will be executed. It has
   * to be followed by `takeEarly`, by `begin`, with its result, or by `dropEarly`.
   *
   * @returns null if the key can't be claimed in Redis any more
   */
  beginEarly({ bodyDigest, ...scope }: KeyedRequest, score: ClaimingScore): EarlyClaim | null {
    return this.scores.beginEarly(this.makeHashes(scope, bodyDigest), score)
  }

  /**
   * Takes a key that was claimed early.
   *
   * @returns null if `begin` has to find out what becomes of the request
   */
  takeEarly(early: EarlyClaim, teamId: string): Claimed | null {
    return this.scores.takeEarly(early, teamId)
  }

  dropEarly(early: EarlyClaim): Promise<void> {
    return this.scores.dropEarly(early)
  }

  private makeHashes(scope: KeyScope, bodyDigest: Uint8Array): AskedHashes {
    return makeHashes({ own: this.sealer, other: this.otherSealer }, scope, bodyDigest)
  }

  /** True while the keys of scores are claimed in Redis alone. */
  get areScoreKeysInRedis(): boolean {
    return this.options.scoreClaims.areInRedis
  }

  /**
   * Ends a claim. If the end can't be stored, the claim ends by its time.
   *
   * @param onEnded receives whether the answer will be given again: if not, it has to say so
   */
  end(
    { kind, claim }: Claimed,
    teamId: string,
    end: ClaimEnd,
    onEnded: (isKept: boolean) => void,
  ): void {
    const isFailed = end === 'failed'
    const onNotKept = () => onEnded(false)
    if (kind === 'claimed-score') {
      if (isFailed) void this.scores.release(claim).then(onNotKept)
      else this.scores.keep(claim, teamId, onEnded)
    } else if (isFailed) void this.release(claim).then(onNotKept)
    else if (end === 'logged') {
      this.leave(claim)
      onNotKept()
    } else this.keep(claim, teamId, end()).then(onEnded, onNotKept)
  }

  /** Claims a key in the database. */
  private async claim({ own, other, all }: AskedHashes, logged?: LoggedRequest): Promise<Begun> {
    if (this.storeRests) return this.counts.notKept()
    const claimId = CLAIM_PREFIX + (logged?.requestId ?? randomBase62(CLAIM_ID_CHARS))
    const taken: HashClaim[] = []
    try {
      for (const asked of all) {
        const begun = await this.claimHash(asked, claimId, logged)
        if (begun !== null) return begun
        taken.push({ keyHash: asked.keyHash, claimId })
      }
    } finally {
      if (taken.length < all.length) await this.releaseAll(taken)
    }
    const beganAtMs = this.options.clock.monotonicMs()
    this.open.set(claimId, { claims: taken, beganAtMs, left: null })
    this.counts.claimed++
    const claim = { keyHash: own.keyHash, otherKeyHash: other?.keyHash ?? null, claimId }
    return { kind: 'claimed', claim }
  }

  /** @returns null once one hash of a key is claimed */
  private async claimHash(
    asked: AskedHash,
    claimId: string,
    logged: LoggedRequest | undefined,
  ): Promise<Begun | null> {
    const { keyHash, bodyHash } = asked
    let insteadOf: string | undefined
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const claim = { keyHash, claimId, bodyHash, insteadOf }
      const found = await this.attempt(() => this.options.store.claim(claim))
      if (found === null) return this.counts.notKept()
      const { held, former } = found
      if (held !== null) return this.counts.answeredWith(this.readAnswer(asked, held))
      if (former === undefined) return null
      const begun = logged === undefined ? null : await this.findFormer(asked, logged, former)
      if (begun !== null) return begun
      insteadOf = former.claimId
    }
    throw this.counts.underWayError()
  }

  /**
   * Looks whether the request that had the key before has logged its score before its process died.
   * Its claim stays: whoever asks next finds the same.
   *
   * @returns null if the log does not have it
   */
  private async findFormer(
    { bodyHash }: AskedHash,
    { requestId, isLogged, remake }: LoggedRequest,
    former: FormerClaim,
  ): Promise<Begun | null> {
    const { counts } = this
    const firstId = former.claimId.slice(CLAIM_PREFIX.length)
    if (firstId === requestId || !(await isLogged(firstId))) return null
    if (Buffer.compare(former.bodyHash, bodyHash) !== 0) throw counts.reusedError()
    if (remake === undefined) throw counts.lostBatchError(firstId)
    const answer = await remake(firstId)
    if (answer === null) throw counts.unreadError()
    return counts.answeredWith(answer)
  }

  private async keep(
    claim: IdempotencyClaim,
    teamId: string,
    answer: KeptAnswer,
  ): Promise<boolean> {
    const { room } = this.options
    const bytes = answer.body.length
    if (this.isFull || bytes > ANSWER_BYTES_MAX || !room.hasRoom(teamId, bytes)) {
      this.counts.not_kept++
      await this.release(claim)
      return false
    }
    const { keyHash, otherKeyHash, claimId } = claim
    const sealed = this.sealer.seal(keyHash, answer)
    const isKept = await this.attempt(() => this.options.store.keep({ keyHash, claimId }, sealed))
    if (isKept === true) {
      if (otherKeyHash !== null && this.otherSealer !== null) {
        const again = this.otherSealer.seal(otherKeyHash, answer)
        await this.attempt(() => this.options.store.keep({ keyHash: otherKeyHash, claimId }, again))
        room.note(teamId, again.length)
      }
      this.open.delete(claimId)
      room.note(teamId, sealed.length)
      return true
    }
    this.counts.not_kept++
    await this.release(claim)
    return false
  }

  private async release(claim: IdempotencyClaim): Promise<void> {
    const { keyHash, otherKeyHash, claimId } = claim
    this.open.delete(claimId)
    const hashes = otherKeyHash === null ? [keyHash] : [keyHash, otherKeyHash]
    await this.releaseAll(hashes.map((hash) => ({ keyHash: hash, claimId })))
  }

  /**
   * Leaves a claim whose score is logged to its end, once the database has the score: until then
   * other processes can't find it.
   */
  private leave({ claimId }: IdempotencyClaim): void {
    const claim = this.open.get(claimId)
    if (claim !== undefined) claim.left = { mark: this.options.waiting.mark() }
  }

  private async releaseAll(claims: readonly HashClaim[]): Promise<void> {
    for (const claim of claims) {
      if (this.storeRests) return
      await this.attempt(() => this.options.store.release(claim))
    }
  }

  close(): Promise<void> {
    return this.renewals.close()
  }

  private readAnswer({ sealer, keyHash, bodyHash }: AskedHash, held: HeldKey): KeptAnswer {
    const { counts } = this
    if (Buffer.compare(held.bodyHash, bodyHash) !== 0) throw counts.reusedError()
    if (held.answer !== null) return sealer.open(keyHash, held.answer)
    if (held.isClaimed) throw counts.underWayError()
    throw counts.lostError()
  }

  private get storeRests(): boolean {
    return this.options.clock.monotonicMs() < this.storeRestsUntilMs
  }

  /** @returns null if the store failed */
  private async attempt<T>(call: () => Promise<T>): Promise<T | null> {
    const { clock, onFailure } = this.options
    const beganAtMs = clock.monotonicMs()
    try {
      return await call()
    } catch (error) {
      const nowMs = clock.monotonicMs()
      if (nowMs - beganAtMs > SLOW_MS) this.storeRestsUntilMs = nowMs + STORE_PAUSE_MS
      onFailure(error)
      return null
    }
  }

  /** Most requests end long before their claims: only slow ones, such as imports, meet this. */
  private async renew(): Promise<void> {
    const { clock, waiting, store } = this.options
    const nowMs = clock.monotonicMs()
    const due: HashClaim[] = []
    for (const [claimId, { claims, beganAtMs, left }] of this.open) {
      const ageMs = nowMs - beganAtMs
      const isOver = left !== null && waiting.isDrainedTo(left.mark)
      if (isOver || ageMs > OPEN_MS_MAX) this.open.delete(claimId)
      else if (ageMs > RENEW_AGE_MS) due.push(...claims)
    }
    if (due.length > 0) await store.renew(due)
  }
}

/** A claim that is renewed. */
interface OpenClaim {
  readonly claims: readonly HashClaim[]
  readonly beganAtMs: number
  /** The scores that waited for the database when the claim was left; null before. */
  left: { readonly mark: unknown } | null
}
