import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, RequestListener } from 'node:http'
import {
  type IdempotencyClaim,
  type KeyCaller,
  PROOF_LIFE_MS,
  SCORING_KEY,
} from '../../http/access/caller.ts'
import { computeDigest } from '../../http/idempotency/sealer.ts'
import type { IdempotencyService } from '../../http/idempotency/service.ts'
import { type LoadShedder, overloadReply, SHED_STATUS } from '../../http/overload/load-shedder.ts'
import { JSON_TYPE } from '../../http/reply.ts'
import type { RequestObserver } from '../../http/request-observer.ts'
import type { Closing } from '../../http/shutdown.ts'
import type { KeyService } from '../../identity/keys/service.ts'
import type { OnOutcome } from '../../log/index.ts'
import type { Clock } from '../../platform/clock.ts'
import { newId } from '../../platform/ids.ts'
import { parseApplicants } from '../../platform/json.ts'
import type { RequestSpan } from '../../platform/tracing/request-span.ts'
import type { Tracer } from '../../platform/tracing/tracer.ts'
import type { Limiter, QuotaDecision } from '../../rate-limit/limiter.ts'
import {
  isScoreBody,
  readScoreRequest,
  readScoreUrl,
  SCORE_OPERATION,
  SCORE_ROUTE,
  type ScoreBody,
} from '../score-request.ts'
import type { ScoringService } from '../service.ts'
import type { Exchange } from './exchange.ts'
import { attachFallback, type Fallback, takeHandedOver } from './fallback.ts'
import { NodeExchange } from './node-exchange.ts'
import { readScoreHead, type ScoreHead } from './score-head.ts'

interface FastPathOptions {
  readonly keys: KeyService
  readonly limiter: Limiter
  /** Quota of a key that has none of its own. */
  readonly quotaPerMinute: number
  readonly scoring: ScoringService
  readonly idempotency: Pick<IdempotencyService, 'begin' | 'keep' | 'release'>
  readonly shedder: LoadShedder
  readonly observer: RequestObserver
  /** Null: no request becomes a span. */
  readonly tracer: Tracer | null
  readonly clock: Clock
  /** Longer bodies go to Fastify. */
  readonly bodyBytesMax: number
  /** A closing service leaves all requests to Fastify, which adds `Connection: close`. */
  readonly closing: Closing
  readonly fastify: RequestListener
}

/** A request that the fast path has taken on. */
interface Arrival {
  readonly exchange: Exchange
  readonly requestId: string
  /** In milliseconds of the monotonic clock. */
  readonly receivedAtMs: number
  /** Null if the request does not become a span. */
  readonly span: RequestSpan | null
}

/** An arrival whose caller is proven and may score. */
interface Scoring extends Arrival {
  readonly caller: KeyCaller
}

/** The body of a request with an `Idempotency-Key`, as it came and as it was read. */
interface KeyedBody {
  readonly key: string
  readonly bytes: Buffer
  readonly body: ScoreBody
}

/**
 * Answers the usual `POST /v1/score/{slug}`: its key is cached, its JSON body is small. Such a
 * request goes to its score and back without Fastify, whose routing, hooks and replies cost more
 * than the score.
 *
 * The fast path sends no response but the score, and 503 where the event loop has no time for one.
 * It leaves every other request to Fastify, together with what it knows by then. Where both ways can
 * answer, they answer the same.
 */
export class FastPath {
  private readonly options: FastPathOptions

  constructor(options: FastPathOptions) {
    this.options = options
    // Its schema is compiled with its first value, which no score has to wait for.
    isScoreBody(null)
  }

  get bodyBytesMax(): number {
    return this.options.bodyBytesMax
  }

  get clock(): Clock {
    return this.options.clock
  }

  /** Listener of Node's server. */
  readonly listen: RequestListener = (request, response) => {
    const { fastify, clock } = this.options
    const head = this.readHead(request)
    const known = takeHandedOver(request.socket, head)
    if (known !== undefined && known.fallback !== null) {
      attachFallback(request, known.fallback)
      fastify(request, response)
      return
    }
    const receivedAtMs = known?.receivedAtMs ?? clock.monotonicMs()
    const isTaken =
      head !== null &&
      this.take(new NodeExchange({ head, receivedAtMs, request, response, fastify }))
    if (!isTaken) fastify(request, response)
  }

  /**
   * Takes on a request, whose exchange is then answered or falls back.
   *
   * @returns false for a request that is Fastify's, of which nothing is known
   */
  take(exchange: Exchange): boolean {
    const { closing, keys, clock, tracer } = this.options
    if (closing.hasBegun) return false
    // Fastify looks up an unknown key, unless its client's address is beyond its quota.
    const found = keys.findHeldCaller(exchange.head.keySecret)
    if (found === undefined) return false
    const requestId = newId('req_', clock.epochMs())
    const { receivedAtMs } = exchange
    const span = tracer === null ? null : tracer.begin(exchange.head.traceparent)
    // Fastify knows the client's address behind proxies, on which few keys depend.
    if (found instanceof Promise || !isUsualCaller(found)) {
      // Fastify awaits it, or never gets there: then nobody else handles its failure.
      if (found instanceof Promise) found.catch(() => undefined)
      this.fallBack({ exchange, requestId, receivedAtMs, span }, { keyLookup: { found } })
    } else this.begin({ exchange, requestId, receivedAtMs, span, caller: found })
    return true
  }

  /** @returns null for a request that is not a score, or an unusual one */
  private readHead({ method, url = '', rawHeaders }: IncomingMessage): ScoreHead | null {
    const asked = method === 'POST' ? readScoreUrl(url) : null
    return asked === null ? null : readScoreHead(asked, rawHeaders, this.options.bodyBytesMax)
  }

  private begin(scoring: Scoring): void {
    const { span, caller } = scoring
    span?.beginStep('quota')
    this.options.limiter.decide(caller.keyId, this.findQuota(caller), (remaining, retryAfterMs) => {
      span?.endStep('quota')
      const quotaDecision = { remaining, retryAfterMs }
      if (retryAfterMs === 0) this.readBody(scoring, quotaDecision)
      else this.fallBack(scoring, { caller, quotaDecision })
    })
  }

  private findQuota({ rateLimitPerMinute }: KeyCaller): number {
    return rateLimitPerMinute ?? this.options.quotaPerMinute
  }

  private readBody(scoring: Scoring, quotaDecision: QuotaDecision): void {
    const { exchange, caller } = scoring
    const { shedder } = this.options
    const { teamId } = caller
    const early = exchange.readBody()
    if (early !== null) {
      if (shedder.refusesScore(teamId)) this.refuse(scoring, quotaDecision)
      else this.takeBody(scoring, quotaDecision, early)
      return
    }
    if (!shedder.loop.hasTimeForScore(teamId)) {
      this.fallBack(scoring, { caller, quotaDecision })
      return
    }
    exchange.awaitBody((failure) => {
      if (failure !== null) this.fallBack(scoring, { caller, quotaDecision, failure })
      // Many bodies may end in one turn of the event loop.
      else if (shedder.refusesScore(teamId)) this.refuse(scoring, quotaDecision)
      else this.takeLateBody(scoring, quotaDecision, exchange.readBody())
    })
  }

  /** A caller's proof ages while the body comes: it is proven again here, or by Fastify. */
  private takeLateBody(scoring: Scoring, quotaDecision: QuotaDecision, body: Buffer | null): void {
    const { caller, exchange } = scoring
    const { keys } = this.options
    const found = this.isProven(scoring) ? caller : keys.findHeldCaller(exchange.head.keySecret)
    if (found instanceof Promise) found.catch(() => undefined)
    else if (body !== null && found !== undefined && isUsualCaller(found)) {
      this.takeBody({ ...scoring, caller: found }, quotaDecision, body)
      return
    }
    this.fallBack(scoring, { caller, quotaDecision, body })
  }

  private isProven({ receivedAtMs }: Scoring): boolean {
    return this.options.clock.monotonicMs() - receivedAtMs <= PROOF_LIFE_MS
  }

  private takeBody(scoring: Scoring, quotaDecision: QuotaDecision, bytes: Buffer): void {
    const { caller, exchange } = scoring
    const { bodyBytes, idempotencyKey: key } = exchange.head
    const body = bytes.length === bodyBytes ? readScoreBody(bytes) : null
    if (body === null) this.fallBack(scoring, { caller, quotaDecision, body: bytes })
    else if (key !== null) void this.scoreOnce(scoring, quotaDecision, { key, bytes, body })
    else {
      this.score(scoring, body, (outcome) => {
        if (outcome instanceof Error) {
          this.fallBack(scoring, { caller, quotaDecision, failure: outcome })
        } else this.answer(scoring, quotaDecision, outcome)
      })
    }
  }

  /**
   * Scores a request with an `Idempotency-Key`, once its key is claimed, and keeps the answer before
   * it is sent. Fastify sends the first answer again, and refuses.
   */
  private async scoreOnce(
    scoring: Scoring,
    quotaDecision: QuotaDecision,
    { key, bytes, body }: KeyedBody,
  ): Promise<void> {
    const { caller, exchange, requestId } = scoring
    const { idempotency, shedder } = this.options
    const known = { caller, quotaDecision }
    let claim: IdempotencyClaim | null = null
    try {
      const { url } = exchange.head
      const bodyDigest = computeDigest(bytes)
      const begun = await idempotency.begin({ caller, method: 'POST', url, key, bodyDigest })
      if (begun.kind === 'answered') {
        this.fallBack(scoring, { ...known, body: bytes, answered: begun.answer })
        return
      }
      if (begun.kind === 'claimed') claim = begun.claim
      const isTaken =
        shedder.loop.hasTimeForScore(caller.teamId) && (await this.isStillProven(scoring))
      if (!isTaken) {
        if (claim !== null) await idempotency.release(claim)
        this.fallBack(scoring, { ...known, body: bytes })
        return
      }
      const text = await new Promise<string>((resolve, reject) => {
        this.score(scoring, body, (outcome) => {
          if (outcome instanceof Error) reject(outcome)
          else resolve(outcome)
        })
      })
      const answer = {
        status: 200,
        contentType: JSON_TYPE,
        cacheControl: null,
        requestId,
        body: Buffer.from(text),
      }
      const isKept = claim !== null && (await idempotency.keep(claim, caller.teamId, answer))
      this.answer(scoring, quotaDecision, text, { isNotKept: !isKept })
    } catch (failure) {
      if (claim !== null) await idempotency.release(claim)
      this.fallBack(scoring, { ...known, failure: failure as Error })
    }
  }

  /** Proves the caller again where the claim took long. */
  private async isStillProven(scoring: Scoring): Promise<boolean> {
    if (this.isProven(scoring)) return true
    const found = await this.options.keys.findHeldCaller(scoring.exchange.head.keySecret)
    return found !== undefined && isUsualCaller(found)
  }

  private score(scoring: Scoring, body: ScoreBody, onOutcome: OnOutcome<string>): void {
    const { caller, requestId, receivedAtMs, exchange, span } = scoring
    const { slug, reasons, routingKey, reference } = exchange.head
    const scoreRequest = readScoreRequest({
      requestId,
      slug,
      body,
      routingKey,
      reference,
      receivedAtMs,
      reasons,
      span,
    })
    try {
      this.options.scoring.score(caller, scoreRequest, onOutcome)
    } catch (error) {
      onOutcome(error as Error)
    }
  }

  private answer(
    scoring: Scoring,
    { remaining }: QuotaDecision,
    text: string,
    { isNotKept = false, isShed = false } = {},
  ): void {
    const { exchange, requestId, receivedAtMs, caller, span } = scoring
    const quota = this.findQuota(caller)
    const headers = { requestId, quota, remaining, isNotKept, isShed }
    exchange.answer(headers, text)
    this.options.observer.observe({
      requestId,
      operation: SCORE_OPERATION,
      load: 'single',
      method: 'POST',
      route: SCORE_ROUTE,
      status: isShed ? SHED_STATUS : 200,
      receivedAtMs,
      caller,
      traceparent: exchange.head.traceparent,
      span,
      isReplay: false,
      isOperational: false,
    })
  }

  /** Fastify would take several times as long for a refusal as a score takes. */
  private refuse(scoring: Scoring, quotaDecision: QuotaDecision): void {
    const text = JSON.stringify(overloadReply(scoring.requestId))
    this.answer(scoring, quotaDecision, text, { isShed: true })
  }

  private fallBack(
    { exchange, requestId, receivedAtMs, span }: Arrival,
    known: Partial<Fallback>,
  ): void {
    exchange.fallBack({
      requestId,
      receivedAtMs,
      span,
      caller: null,
      keyLookup: null,
      quotaDecision: null,
      body: null,
      failure: null,
      answered: null,
      ...known,
    })
  }
}

/** Tells whether a caller may score from any address. */
function isUsualCaller(found: KeyCaller | null): found is KeyCaller {
  return found?.admitsAddress === null && found.scopes.includes(SCORING_KEY.scope)
}

/** @returns null for bytes that are not the body of a score */
function readScoreBody(bytes: Buffer): ScoreBody | null {
  try {
    if (!isUtf8(bytes)) return null
    const body = parseApplicants(bytes.toString())
    return isScoreBody(body) ? body : null
  } catch {
    return null
  }
}
