import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { BEARER_PREFIX } from '../../access/bearer.ts'
import { type KeyCaller, mayScore, PROOF_LIFE_MS } from '../../access/caller.ts'
import { JSON_TYPE } from '../../http/reply.ts'
import type { RequestObserver } from '../../http/request-observer.ts'
import type { KeyService } from '../../keys/service.ts'
import type { LoadShedder } from '../../overload/load-shedder.ts'
import type { Clock } from '../../platform/clock.ts'
import { newId } from '../../platform/ids/ids.ts'
import { parseJson } from '../../platform/json.ts'
import {
  type CallerQuota,
  type QuotaDecision,
  quotaHeaders,
} from '../../rate-limit/caller-quota.ts'
import type { ReasonsWanted } from '../reason-texts.ts'
import {
  isReference,
  isScoreBody,
  isUsualJson,
  routingKeyOf,
  SCORE_OPERATION,
  type ScoreBody,
  scoreRequestOf,
  scoreUrlOf,
} from '../score-request.ts'
import type { ScoringService } from '../service.ts'
import { attachFallback, type Fallback } from './fallback.ts'

interface FastPathOptions {
  readonly keys: KeyService
  readonly quota: CallerQuota
  readonly scoring: ScoringService
  readonly shedder: LoadShedder
  readonly observer: RequestObserver
  readonly clock: Clock
  /** Longer bodies go to Fastify. */
  readonly bodyBytesMax: number
  /** A closing service leaves all requests to Fastify, which adds `Connection: close`. */
  readonly isClosing: () => boolean
  readonly fastify: RequestListener
}

/** The fields of a request's head that a score needs. */
interface Head {
  readonly slug: string
  readonly reasons: ReasonsWanted | null
  readonly keySecret: string
  readonly bodyBytes: number
  readonly routingKey: string | undefined
  readonly reference: string | null
}

/** A request that the fast path has taken on. */
interface Arrival extends Head {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** In milliseconds of the monotonic clock. */
  readonly receivedAtMs: number
}

/** An arrival whose caller is proven and may score. */
interface Scoring extends Arrival {
  readonly caller: KeyCaller
}

/**
 * Answers the usual `POST /v1/score/{slug}`: its key is cached, its JSON body is small. Such a
 * request goes from Node's server to its score and back without Fastify, whose routing, hooks and
 * replies cost more than the score.
 *
 * The fast path sends no response but the score. It leaves every other request to Fastify, together
 * with what it knows by then. Where both ways can answer, they answer the same.
 */
export class FastPath {
  private readonly options: FastPathOptions

  constructor(options: FastPathOptions) {
    this.options = options
  }

  readonly listen: RequestListener = (request, response) => {
    const { bodyBytesMax, isClosing, keys, clock, fastify } = this.options
    const head = isClosing() ? null : headOf(request, bodyBytesMax)
    // Fastify looks up an unknown key, unless its client's address is beyond its quota.
    const found = head === null ? undefined : keys.heldCallerOf(head.keySecret)
    if (head === null || found === undefined) {
      fastify(request, response)
      return
    }
    const requestId = newId('req_', clock.epochMs())
    const receivedAtMs = clock.monotonicMs()
    const arrival = { ...head, request, response, requestId, receivedAtMs }
    // Fastify knows the client's address behind proxies, on which few keys depend.
    const isForFastify =
      found === null || found instanceof Promise || !mayScore(found) || found.admitsAddress !== null
    if (isForFastify) {
      // Fastify awaits it, or never gets there: then nobody else handles its failure.
      if (found instanceof Promise) found.catch(() => undefined)
      this.fallBack(arrival, { keyLookup: { found } })
    } else this.begin({ ...arrival, caller: found })
  }

  private begin(scoring: Scoring): void {
    this.options.quota.decide(scoring.caller, (remaining, retryAfterMs) => {
      const quotaDecision = { remaining, retryAfterMs }
      if (retryAfterMs === 0) this.readBody(scoring, quotaDecision)
      else this.fallBack(scoring, { caller: scoring.caller, quotaDecision })
    })
  }

  private readBody(scoring: Scoring, quotaDecision: QuotaDecision): void {
    const { request, bodyBytes, caller } = scoring
    const { loop } = this.options.shedder
    if (!loop.hasTimeForScore()) {
      this.fallBack(scoring, { caller, quotaDecision })
      return
    }
    // Most bodies arrive with the head, and are complete by now.
    const early: Buffer | null =
      request.complete && request.readableLength === bodyBytes ? request.read() : null
    if (early !== null) {
      this.takeBody(scoring, quotaDecision, early)
      return
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.once('end', () => {
      const body = Buffer.concat(chunks)
      // Many bodies may end in one turn of the event loop, and a caller's proof ages meanwhile:
      // Fastify sheds the score, or proves the caller again.
      if (loop.hasTimeForScore() && this.isProven(scoring)) {
        this.takeBody(scoring, quotaDecision, body)
      } else this.fallBack(scoring, { caller, quotaDecision, body })
    })
    // The client hung up before its body was complete.
    request.once('error', (failure) => this.fallBack(scoring, { caller, quotaDecision, failure }))
  }

  private isProven({ receivedAtMs }: Scoring): boolean {
    return this.options.clock.monotonicMs() - receivedAtMs <= PROOF_LIFE_MS
  }

  private takeBody(scoring: Scoring, quotaDecision: QuotaDecision, bytes: Buffer): void {
    const body = bytes.length === scoring.bodyBytes ? scoreBodyOf(bytes) : null
    if (body !== null) this.score(scoring, quotaDecision, body)
    else this.fallBack(scoring, { caller: scoring.caller, quotaDecision, body: bytes })
  }

  private score(scoring: Scoring, quotaDecision: QuotaDecision, body: ScoreBody): void {
    const { caller, requestId, slug, routingKey, reference, receivedAtMs, reasons } = scoring
    const scoreRequest = scoreRequestOf({
      requestId,
      slug,
      body,
      routingKey,
      reference,
      receivedAtMs,
      reasons,
    })
    const fail = (failure: Error) => this.fallBack(scoring, { caller, quotaDecision, failure })
    try {
      this.options.scoring.score(caller, scoreRequest, (outcome) => {
        if (outcome instanceof Error) fail(outcome)
        else this.respond(scoring, quotaDecision, outcome)
      })
    } catch (error) {
      fail(error as Error)
    }
  }

  private respond(scoring: Scoring, { remaining }: QuotaDecision, text: string): void {
    const { request, response, requestId, receivedAtMs, caller } = scoring
    const { quota, observer } = this.options
    response.writeHead(200, {
      'x-request-id': requestId,
      ...quotaHeaders(quota.of(caller), remaining),
      'content-type': JSON_TYPE,
      'content-length': Buffer.byteLength(text),
    })
    response.end(text)
    observer.observe({
      requestId,
      operation: SCORE_OPERATION,
      load: 'single',
      method: request.method,
      status: 200,
      receivedAtMs,
      caller,
      isReplay: false,
      isOperational: false,
    })
  }

  private fallBack(arrival: Arrival, known: Partial<Fallback>): void {
    const { request, response, requestId, receivedAtMs } = arrival
    attachFallback(request, {
      requestId,
      receivedAtMs,
      caller: null,
      keyLookup: null,
      quotaDecision: null,
      body: null,
      failure: null,
      ...known,
    })
    this.options.fastify(request, response)
  }
}

/** @returns null for a request that is not a score, or an unusual one */
function headOf(
  { method, url = '', rawHeaders }: IncomingMessage,
  bodyBytesMax: number,
): Head | null {
  const place = method === 'POST' ? scoreUrlOf(url) : null
  if (place === null) return null
  let authorization: string | undefined
  let type: string | undefined
  let length: string | undefined
  let routingKey: string | undefined
  let reference: string | null = null
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const value = rawHeaders[at + 1] ?? ''
    switch (rawHeaders[at]?.toLowerCase()) {
      case 'authorization':
        if (authorization !== undefined) return null
        authorization = value
        break
      case 'content-type':
        if (type !== undefined) return null
        type = value
        break
      case 'content-length':
        length = value
        break
      case 'x-routing-key':
        if (routingKey !== undefined) return null
        routingKey = value
        break
      // Such a score waits for the database in any case.
      case 'idempotency-key':
        return null
      case 'x-reference-id':
        // Fastify refuses two, and one of another form.
        if (reference !== null || !isReference(value)) return null
        reference = value
        break
      // Fastify refuses the unusual ones.
      case 'content-encoding':
      case 'transfer-encoding':
        return null
    }
  }
  const bodyBytes = Number(length)
  if (!(bodyBytes > 0 && bodyBytes <= bodyBytesMax)) return null
  if (authorization?.startsWith(BEARER_PREFIX) !== true) return null
  if (!isUsualJson(type)) return null
  const keySecret = authorization.slice(BEARER_PREFIX.length)
  const { slug, reasons } = place
  return { slug, reasons, keySecret, bodyBytes, routingKey: routingKeyOf(routingKey), reference }
}

/** @returns null for bytes that are not the body of a score */
function scoreBodyOf(bytes: Buffer): ScoreBody | null {
  try {
    if (!isUtf8(bytes)) return null
    const body = parseJson(bytes.toString())
    return isScoreBody(body) ? body : null
  } catch {
    return null
  }
}
