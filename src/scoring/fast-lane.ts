import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type KeyCaller, SCORING_KEY } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import type { Applicant } from '../engine/index.ts'
import { type Handover, noteHandover } from '../handover.ts'
import { JSON_TYPE } from '../http/reply.ts'
import { newId } from '../ids.ts'
import { parseJson } from '../json.ts'
import type { KeyService } from '../keys/service.ts'
import type { CallerQuota } from '../ratelimit/caller-quota.ts'
import type { RequestObserver } from '../request-observer.ts'
import type { LoadShedder } from '../shedding/load-shedder.ts'
import type { ScoringService } from './service.ts'

interface FastLaneOptions {
  readonly keys: KeyService
  /** Null: nothing counts. */
  readonly quota: CallerQuota | null
  readonly scoring: ScoringService
  readonly shedder: LoadShedder
  readonly observer: RequestObserver
  readonly clock: Clock
  /** Longer bodies are Fastify's. */
  readonly bodyBytesMax: number
  /** Then each answer must say that its connection ends, which is Fastify's to say. */
  readonly isClosing: () => boolean
  readonly fastify: RequestListener
}

/** What the head of a request says, as far as a score needs it. */
interface Head {
  readonly slug: string
  readonly keySecret: string
  readonly bodyBytes: number
  readonly routingKey: string | undefined
}

/** A score that is under way. */
interface Scoring extends Head {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  readonly receivedAtMs: number
  readonly caller: KeyCaller
}

type Counted = NonNullable<Handover['counted']>
type Body = Applicant & { readonly strict_mode?: boolean }

const PATH = /^\/v1\/score\/(dep_[0-9A-Za-z]+)$/
const BEARER = 'Bearer '

/**
 * `POST /v1/score/{slug}` as most calls are: of a key that is known, with a small body of JSON. Such a call
 * goes from Node's server to its score and back without Fastify, whose way through routing, hooks and replies
 * costs more than the score.
 *
 * The lane has no answer but the score. A request that is not as it should be, or only unusual, is handed over
 * to Fastify, together with what is known of it by then, and goes the way of all others; where both ways can
 * answer, they answer the same.
 */
export class FastLane {
  private readonly options: FastLaneOptions

  constructor(options: FastLaneOptions) {
    this.options = options
  }

  readonly listen: RequestListener = (request, response) => {
    const { bodyBytesMax, isClosing, clock, fastify } = this.options
    const head = isClosing() ? null : headOf(request, bodyBytesMax)
    const caller = head === null ? null : this.callerOf(head.keySecret)
    if (head === null || caller === null) {
      fastify(request, response)
      return
    }
    const requestId = newId('req_', clock.epochMs())
    const receivedAtMs = clock.monotonicMs()
    this.begin({ ...head, request, response, requestId, receivedAtMs, caller })
  }

  /** The caller, if he is known and may score; a key that must be looked up is Fastify's to wait for. */
  private callerOf(keySecret: string): KeyCaller | null {
    const found = this.options.keys.callerOf(keySecret)
    if (found instanceof Promise) {
      found.catch(() => undefined)
      return null
    }
    return found?.scopes.includes(SCORING_KEY.scope) === true ? found : null
  }

  private begin(scoring: Scoring): void {
    const { quota } = this.options
    if (quota === null) this.takeBody(scoring, null)
    quota?.decide(scoring.caller, (remaining, retryAfterMs) => {
      const counted = { remaining, retryAfterMs }
      if (retryAfterMs === 0) this.takeBody(scoring, counted)
      else this.handOver(scoring, { counted })
    })
  }

  private takeBody(scoring: Scoring, counted: Counted | null): void {
    if (!this.options.shedder.loop.hasTimeForScore()) {
      this.handOver(scoring, { counted })
      return
    }
    readBody(scoring, (bytes) => {
      const body = bytes.length === scoring.bodyBytes ? scoreBodyOf(bytes) : null
      if (body === null) this.handOver(scoring, { counted, body: bytes })
      else this.score(scoring, counted, body)
    })
  }

  private score(scoring: Scoring, counted: Counted | null, body: Body): void {
    const { caller, requestId, slug, routingKey, receivedAtMs } = scoring
    const wanted = {
      requestId,
      deploymentId: slug,
      applicant: body,
      reservedName: 'strict_mode',
      strictMode: body.strict_mode ?? false,
      form: 'deployment',
      routingKey,
      receivedAtMs,
    } as const
    try {
      this.options.scoring.score(caller, wanted, (outcome) => {
        if (outcome instanceof Error) this.handOver(scoring, { counted, failure: outcome })
        else this.answer(scoring, counted, outcome)
      })
    } catch (error) {
      this.handOver(scoring, { counted, failure: error as Error })
    }
  }

  private answer(scoring: Scoring, counted: Counted | null, text: string): void {
    const { request, response, requestId, receivedAtMs, caller } = scoring
    const { quota, clock, observer } = this.options
    const headers = ['x-request-id', requestId]
    if (counted !== null && quota !== null) {
      headers.push('x-ratelimit-limit', String(quota.of(caller)))
      headers.push('x-ratelimit-remaining', String(counted.remaining))
    }
    headers.push('content-type', JSON_TYPE, 'content-length', String(Buffer.byteLength(text)))
    response.writeHead(200, headers)
    response.end(text)
    observer.observe({
      requestId,
      operation: 'scoring.score',
      method: request.method,
      status: 200,
      durationMs: clock.monotonicMs() - receivedAtMs,
      caller,
      isOperational: false,
    })
  }

  private handOver(
    { request, response, requestId, receivedAtMs, caller }: Scoring,
    found: Pick<Handover, 'counted'> & Partial<Handover>,
  ): void {
    const begun = { requestId, receivedAtMs, caller, body: null, failure: null, ...found }
    noteHandover(request, begun)
    this.options.fastify(request, response)
  }
}

/** @returns null for a request that is no score, or an unusual one */
function headOf(
  { method, url = '', rawHeaders }: IncomingMessage,
  bodyBytesMax: number,
): Head | null {
  const slug = method === 'POST' ? PATH.exec(url)?.[1] : undefined
  if (slug === undefined) return null
  let authorization: string | undefined
  let type: string | undefined
  let length: string | undefined
  let routingKey: string | undefined
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
      case 'transfer-encoding':
        return null
    }
  }
  const bodyBytes = Number(length)
  if (!(bodyBytes > 0 && bodyBytes <= bodyBytesMax)) return null
  if (authorization?.startsWith(BEARER) !== true) return null
  if (type !== 'application/json' && type !== JSON_TYPE) return null
  const keySecret = authorization.slice(BEARER.length)
  return { slug, keySecret, bodyBytes, routingKey: routingKey || undefined }
}

/** Tells of the body once all of it is there; never, when its client hangs up before. */
function readBody({ request, bodyBytes }: Scoring, complete: (bytes: Buffer) => void): void {
  // Mostly it came with the head, and is there by now.
  if (request.complete && request.readableLength === bodyBytes) {
    const bytes: Buffer | null = request.read()
    if (bytes !== null) complete(bytes)
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => complete(Buffer.concat(chunks)))
}

/** @returns null for what is no body of a score */
function scoreBodyOf(bytes: Buffer): Body | null {
  try {
    const body = parseJson(bytes.toString())
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return null
    const { strict_mode: strictMode } = body as Record<string, unknown>
    return strictMode === undefined || typeof strictMode === 'boolean' ? (body as Body) : null
  } catch {
    return null
  }
}
