import { isLoggedAllTheSame } from '../../errors.ts'
import { type ClaimEnd, type Claimed, readLoggedKey } from '../../http/idempotency/begun.ts'
import { computeDigest } from '../../http/idempotency/sealer.ts'
import type { IdempotencyService } from '../../http/idempotency/service.ts'
import type { LoadShedder } from '../../http/overload/load-shedder.ts'
import type { KeyService } from '../../identity/keys/service.ts'
import type { Clock } from '../../platform/clock.ts'
import type { QuotaDecision } from '../../rate-limit/limiter.ts'
import { type LoggedAnswers, makeKeyedScore, scoreAnswer } from '../keyed-score.ts'
import type { SingleRequest } from '../requests.ts'
import type { ScoreBody } from '../score-request.ts'
import type { ScoringService } from '../service.ts'
import { isProven, isUsualCaller, readRequest, readScoreBody, type Scoring } from './arrival.ts'
import type { Fallback } from './fallback.ts'

export type KeyedIdempotency = Pick<
  IdempotencyService,
  'canBeginEarly' | 'begin' | 'beginEarly' | 'takeEarly' | 'dropEarly' | 'end'
>

interface KeyedPathOptions {
  readonly keys: Pick<KeyService, 'findHeldCaller'>
  readonly idempotency: KeyedIdempotency
  readonly remadeAnswers: LoggedAnswers
  readonly scoring: Pick<ScoringService, 'score'>
  readonly shedder: Pick<LoadShedder, 'loop'>
  readonly clock: Clock
  answer(scoring: Scoring, quota: QuotaDecision, text: string, isNotKept: boolean): void
  fallBack(scoring: Scoring, known: Partial<Fallback>): void
}

/** The body of a request with an `Idempotency-Key`, as it came and as it was read. */
interface KeyedBody {
  readonly key: string
  readonly bytes: Buffer
  readonly body: ScoreBody
}

/** The digest of a body whose key is claimed is not needed again. */
const NO_BYTES = new Uint8Array(0)

/** The part of the fast path that scores requests with an `Idempotency-Key`. */
export class KeyedPath {
  private readonly options: KeyedPathOptions

  constructor(options: KeyedPathOptions) {
    this.options = options
  }

  /** Claims the key of a request while the quota is asked, which admits nearly all. */
  beginEarly(scoring: Scoring): Scoring['early'] {
    const { idempotencyKey: key, bodyBytes } = scoring.exchange.head
    const bytes = scoring.exchange.peekBody()
    const { canBeginEarly } = this.options.idempotency
    if (key === null || bytes?.length !== bodyBytes || !canBeginEarly) return null
    const body = readScoreBody(bytes)
    return body === null ? null : this.claim(scoring, { key, bytes, body })
  }

  private claim({ exchange, caller, requestId }: Scoring, { key, bytes, body }: KeyedBody) {
    const { idempotency, remadeAnswers } = this.options
    const { url } = exchange.head
    const asked = { caller, method: 'POST', url, key, bodyDigest: computeDigest(bytes) }
    const isLogged = (id: string) => remadeAnswers.isLogged(id)
    const claim = idempotency.beginEarly(asked, { requestId, isLogged })
    return claim === null ? null : { body, claim }
  }

  /** Gives a claim back that was made early, for a request that will not be scored here. */
  giveUp({ early }: Scoring): void {
    if (early !== null) this.options.idempotency.dropEarly(early.claim).catch(() => undefined)
  }

  /**
   * Scores a request once its key is claimed, and keeps the answer before it is sent. Fastify sends
   * the first answer again, and refuses.
   */
  score(scoring: Scoring, quotaDecision: QuotaDecision, body: KeyedBody): void {
    const { caller } = scoring
    const { idempotency, shedder, clock } = this.options
    const isTaken = shedder.loop.hasTimeForScore(caller.teamId) && isProven(scoring, clock)
    const mayBegin = isTaken && idempotency.canBeginEarly
    const early = scoring.early ?? (mayBegin ? this.claim(scoring, body) : null)
    const claimed =
      isTaken && early !== null ? idempotency.takeEarly(early.claim, caller.teamId) : null
    if (claimed === null) void this.scoreLater({ ...scoring, early }, quotaDecision, body)
    else this.scoreNow(scoring, quotaDecision, { body: body.body, claimed })
  }

  /** Scores a request whose key is claimed. Nearly all go this way, which awaits nothing. */
  private scoreNow(
    scoring: Scoring,
    quotaDecision: QuotaDecision,
    { body, claimed }: { readonly body: ScoreBody; readonly claimed: Claimed },
  ): void {
    const { caller } = scoring
    const onOutcome = (outcome: string | Error) =>
      this.end(scoring, quotaDecision, { claimed, outcome })
    try {
      const request = readRequest(scoring, body, readLoggedKey(claimed))
      this.options.scoring.score(caller, request, onOutcome)
    } catch (error) {
      onOutcome(error as Error)
    }
  }

  /**
   * Scores a request that has to wait for its claim, or repeats another, or is not kept. Never
   * rejects.
   */
  private async scoreLater(
    scoring: Scoring,
    quotaDecision: QuotaDecision,
    body: KeyedBody,
  ): Promise<void> {
    const { caller } = scoring
    const { fallBack } = this.options
    const known = { caller, quotaDecision }
    const request = readRequest(scoring, body.body, null)
    let claimed: Claimed | null = null
    let outcome: string | Error
    try {
      const begun = await this.begin(scoring, request, body)
      if (begun.kind === 'answered') {
        fallBack(scoring, { ...known, body: body.bytes, answered: begun.answer })
        return
      }
      if (begun.kind !== 'not-kept') claimed = begun
      if (!(await this.isStillTaken(scoring))) {
        const fallBackUnscored = () => fallBack(scoring, { ...known, body: body.bytes })
        if (claimed === null) fallBackUnscored()
        else this.options.idempotency.end(claimed, caller.teamId, 'failed', fallBackUnscored)
        return
      }
      outcome = await this.execute(scoring, { ...request, key: readLoggedKey(claimed) })
    } catch (failure) {
      outcome = failure as Error
    }
    this.end(scoring, quotaDecision, { claimed, outcome })
  }

  private begin({ caller, exchange, early }: Scoring, request: SingleRequest, body: KeyedBody) {
    const { idempotency, remadeAnswers } = this.options
    return idempotency.begin({
      caller,
      method: 'POST',
      url: exchange.head.url,
      key: body.key,
      bodyDigest: early === null ? computeDigest(body.bytes) : NO_BYTES,
      score: makeKeyedScore(remadeAnswers, request),
      early: early?.claim ?? null,
    })
  }

  private execute({ caller }: Scoring, request: SingleRequest): Promise<string> {
    return new Promise((resolve, reject) => {
      this.options.scoring.score(caller, request, (outcome) => {
        if (outcome instanceof Error) reject(outcome)
        else resolve(outcome)
      })
    })
  }

  /** Ends a request that was scored, or has failed: its claim, and then its answer. */
  private end(
    scoring: Scoring,
    quotaDecision: QuotaDecision,
    { claimed, outcome }: { readonly claimed: Claimed | null; readonly outcome: string | Error },
  ): void {
    const { caller, requestId } = scoring
    const { idempotency, answer, fallBack } = this.options
    const onEnded = (isKept: boolean) => {
      if (typeof outcome === 'string') answer(scoring, quotaDecision, outcome, !isKept)
      else fallBack(scoring, { caller, quotaDecision, failure: outcome })
    }
    if (claimed === null) {
      onEnded(false)
      return
    }
    let end: ClaimEnd
    if (typeof outcome === 'string') end = () => scoreAnswer(requestId, outcome)
    else end = isLoggedAllTheSame(outcome) ? 'logged' : 'failed'
    idempotency.end(claimed, caller.teamId, end, onEnded)
  }

  /** Looks again, after the claim, whether there is time for the score, and proves the caller. */
  private isStillTaken(scoring: Scoring): boolean | Promise<boolean> {
    const { shedder, clock } = this.options
    if (!shedder.loop.hasTimeForScore(scoring.caller.teamId)) return false
    return isProven(scoring, clock) || this.proveAgain(scoring)
  }

  private async proveAgain({ exchange }: Scoring): Promise<boolean> {
    const looked = this.options.keys.findHeldCaller(exchange.head.keySecret)
    // Fastify looks again, and answers with the failure.
    const found = await Promise.resolve(looked).catch(() => undefined)
    return found !== undefined && isUsualCaller(found)
  }
}
