import type { IncomingHttpHeaders } from 'node:http'
import { ScoreRequest } from '../../schemas/scoring.ts'
import type { Applicant } from '../engine/index.ts'
import { AppError } from '../errors.ts'
import { JSON_TYPE } from '../http/reply.ts'
import { compileRoute } from '../http/validators.ts'
import type { ScoreKey } from '../log/index.ts'
import type { RequestSpan } from '../platform/tracing/request-span.ts'
import { type ReasonsWanted, reasonsWanted } from './reason-texts.ts'
import type { SingleRequest } from './requests.ts'

// The facts of `POST /v1/score/{slug}` that its route and the fast path share.

export const SCORE_OPERATION = 'scoring.score'
export const SCORE_ROUTE = '/v1/score/:slug'
/** The body's property that is an option, not a feature. */
const STRICT_MODE = 'strict_mode'
/** With reasons in their usual form; Fastify reads all others. A language tag has 35 characters. */
const SCORE_URL =
  /^\/v1\/score\/(dep_[0-9A-Za-z]+)(?:\?reasons=([1-9]|10)(?:&lang=([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3}))?)?$/
const CONTENT_TYPES: ReadonlySet<string | undefined> = new Set(['application/json', JSON_TYPE])

/** The features of one applicant, and options beside them. */
export type ScoreBody = Applicant & { readonly [STRICT_MODE]?: boolean }

interface ScoreCall {
  readonly requestId: string
  readonly slug: string
  readonly body: ScoreBody
  readonly routingKey: string | undefined
  readonly reference: string | null
  /** See `SingleRequest.key`. */
  readonly key?: ScoreKey | null
  readonly receivedAtMs: number
  readonly reasons: ReasonsWanted | null
  /** Null if the request does not become a span. */
  readonly span: RequestSpan | null
}

export function readScoreRequest(call: ScoreCall): SingleRequest {
  const { requestId, slug, body, routingKey, reference, key = null } = call
  const { receivedAtMs, reasons, span } = call
  return {
    requestId,
    deploymentId: slug,
    applicant: body,
    reservedName: STRICT_MODE,
    strictMode: body[STRICT_MODE] ?? false,
    form: 'deployment',
    routingKey,
    reference,
    key,
    receivedAtMs,
    reasons,
    span,
  }
}

export interface ScoreUrl {
  /** Path and query, as they were sent. */
  readonly url: string
  readonly slug: string
  /** Null for an answer without reasons. */
  readonly reasons: ReasonsWanted | null
}

/** @returns null for the URL of another route, or one in an unusual form */
export function readScoreUrl(url: string): ScoreUrl | null {
  const parts = SCORE_URL.exec(url)
  const slug = parts?.[1]
  if (slug === undefined) return null
  const count = parts?.[2]
  const reasons = count === undefined ? null : reasonsWanted(Number(count), parts?.[3])
  return { url, slug, reasons }
}

/** Tells whether a header names JSON in the usual form; Fastify accepts more forms. */
export function isUsualJson(contentType: string | undefined): boolean {
  return CONTENT_TYPES.has(contentType)
}

/** @returns undefined for an empty header, which is like no header */
export function readRoutingKey(header: IncomingHttpHeaders[string]): string | undefined {
  return typeof header === 'string' && header !== '' ? header : undefined
}

/** 1 to 128 printable characters of ASCII without space. */
const REFERENCE = /^[!-~]{1,128}$/

export function isReference(header: string): boolean {
  return REFERENCE.test(header)
}

/**
 * The lender's application number in `X-Reference-Id`; null without the header.
 *
 * @throws AppError `invalid_request`
 */
export function readReference(header: IncomingHttpHeaders[string]): string | null {
  if (header === undefined) return null
  // Node joins repeated headers with a comma and a space.
  if (typeof header === 'string' && isReference(header)) return header
  throw new AppError(
    'invalid_request',
    'the header X-Reference-Id must be 1 to 128 printable ASCII characters without a space: send it once, or leave it out',
  )
}

/**
 * Refuses the header in a batch, whose records have references of their own.
 *
 * @throws AppError `invalid_request`
 */
export function refuseReference(header: IncomingHttpHeaders[string]): void {
  if (header === undefined) return
  throw new AppError(
    'invalid_request',
    'the header X-Reference-Id is for single scores: in a batch, send the reference of each record as its id',
  )
}

let validate: ReturnType<typeof compileRoute> | null = null

/** Tells whether a value has the form that the schema describes, by the validator of the route. */
export function isScoreBody(value: unknown): value is ScoreBody {
  validate ??= compileRoute({
    schema: ScoreRequest,
    method: 'POST',
    url: SCORE_ROUTE,
    httpPart: 'body',
  })
  return validate(value) === true
}
