import type { IncomingMessage, RequestListener } from 'node:http'
import type { KeyCaller } from '../../http/access/caller.ts'
import { type LoadShedder, overloadReply, SHED_STATUS } from '../../http/overload/load-shedder.ts'
import type { RequestObserver } from '../../http/request-observer.ts'
import type { Closing } from '../../http/shutdown.ts'
import type { KeyService } from '../../identity/keys/service.ts'
import type { OnOutcome } from '../../log/index.ts'
import type { Clock } from '../../platform/clock.ts'
import { newId } from '../../platform/ids.ts'
import type { Tracer } from '../../platform/tracing/tracer.ts'
import type { Limiter, QuotaDecision } from '../../rate-limit/limiter.ts'
import type { LoggedAnswers } from '../keyed-score.ts'
import type { SingleRequest } from '../requests.ts'
import { isScoreBody, readScoreUrl, SCORE_OPERATION, SCORE_ROUTE } from '../score-request.ts'
import type { ScoringService } from '../service.ts'
import {
  type Arrival,
  isProven,
  isUsualCaller,
  readRequest,
  readScoreBody,
  type Scoring,
} from './arrival.ts'
import { type Exchange, NodeExchange } from './exchange.ts'
import { attachFallback, type Fallback, takeHandedOver } from './fallback.ts'
import { type KeyedIdempotency, KeyedPath } from './keyed-path.ts'
import { readScoreHead, type ScoreHead } from './score-head.ts'

interface FastPathOptions {
  readonly keys: KeyService
  readonly limiter: Limiter
  /** Quota of a key that has none of its own. */
  readonly quotaPerMinute: number
  readonly scoring: ScoringService
  readonly idempotency: KeyedIdempotency
  readonly remadeAnswers: LoggedAnswers
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
  private readonly keyed: KeyedPath

  constructor(options: FastPathOptions) {
    this.options = options
    this.keyed = new KeyedPath({
      ...options,
      answer: (scoring, quotaDecision, text, isNotKept) =>
        this.answer(scoring, quotaDecision, text, { isNotKept }),
      fallBack: (scoring, known) => this.fallBack(scoring, known),
    })
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
    } else this.begin({ exchange, requestId, receivedAtMs, span, caller: found, early: null })
    return true
  }

  /** @returns null for a request that is not a score, or an unusual one */
  private readHead({ method, url = '', rawHeaders }: IncomingMessage): ScoreHead | null {
    const asked = method === 'POST' ? readScoreUrl(url) : null
    return asked === null ? null : readScoreHead(asked, rawHeaders, this.options.bodyBytesMax)
  }

  private begin(arrived: Scoring): void {
    const { span, caller } = arrived
    span?.beginStep('quota')
    let scoring = arrived
    let isDecided = false
    this.options.limiter.decide(caller.keyId, this.findQuota(caller), (remaining, retryAfterMs) => {
      isDecided = true
      span?.endStep('quota')
      const quotaDecision = { remaining, retryAfterMs }
      if (retryAfterMs === 0) this.readBody(scoring, quotaDecision)
      else {
        this.keyed.giveUp(scoring)
        this.fallBack(scoring, { caller, quotaDecision })
      }
    })
    // While Redis is asked for the quota, it is asked for the key, too.
    if (isDecided || arrived.exchange.head.idempotencyKey === null) return
    const early = this.keyed.beginEarly(arrived)
    if (early !== null) scoring = { ...arrived, early }
  }

  private findQuota({ rateLimitPerMinute }: KeyCaller): number {
    return rateLimitPerMinute ?? this.options.quotaPerMinute
  }

  private readBody(scoring: Scoring, quotaDecision: QuotaDecision): void {
    const { exchange, caller } = scoring
    const { shedder } = this.options
    const { teamId } = caller
    const body = exchange.readBody()
    if (body !== null) {
      if (shedder.refusesScore(teamId)) {
        this.keyed.giveUp(scoring)
        this.refuse(scoring, quotaDecision)
      } else this.takeBody(scoring, quotaDecision, body)
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
    const found = isProven(scoring, this.options.clock)
      ? caller
      : keys.findHeldCaller(exchange.head.keySecret)
    if (found instanceof Promise) found.catch(() => undefined)
    else if (body !== null && found !== undefined && isUsualCaller(found)) {
      this.takeBody({ ...scoring, caller: found }, quotaDecision, body)
      return
    }
    this.fallBack(scoring, { caller, quotaDecision, body })
  }

  private takeBody(scoring: Scoring, quotaDecision: QuotaDecision, bytes: Buffer): void {
    const { caller, exchange } = scoring
    const { bodyBytes, idempotencyKey: key } = exchange.head
    const read = () => (bytes.length === bodyBytes ? readScoreBody(bytes) : null)
    const body = scoring.early?.body ?? read()
    if (body === null) this.fallBack(scoring, { caller, quotaDecision, body: bytes })
    else if (key !== null) this.keyed.score(scoring, quotaDecision, { key, bytes, body })
    else {
      this.score(scoring, readRequest(scoring, body, null), (outcome) => {
        if (outcome instanceof Error) {
          this.fallBack(scoring, { caller, quotaDecision, failure: outcome })
        } else this.answer(scoring, quotaDecision, outcome)
      })
    }
  }

  private score({ caller }: Scoring, request: SingleRequest, onOutcome: OnOutcome<string>): void {
    try {
      this.options.scoring.score(caller, request, onOutcome)
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
