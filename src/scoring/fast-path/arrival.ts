import { isUtf8 } from 'node:buffer'
import { type KeyCaller, PROOF_LIFE_MS, SCORING_KEY } from '../../http/access/caller.ts'
import type { EarlyClaim } from '../../http/idempotency/score-claims/early-claim.ts'
import type { ScoreKey } from '../../log/index.ts'
import type { Clock } from '../../platform/clock.ts'
import { parseApplicants } from '../../platform/json.ts'
import { APPLICANT_NAMES_MAX } from '../../platform/json-shape.ts'
import type { RequestSpan } from '../../platform/tracing/request-span.ts'
import type { SingleRequest } from '../requests.ts'
import { isScoreBody, readScoreRequest, type ScoreBody } from '../score-request.ts'
import type { Exchange } from './exchange.ts'

/** A request that the fast path has taken on. */
export interface Arrival {
  readonly exchange: Exchange
  readonly requestId: string
  /** In milliseconds of the monotonic clock. */
  readonly receivedAtMs: number
  /** Null if the request does not become a span. */
  readonly span: RequestSpan | null
}

/** An arrival whose caller is proven and may score. */
export interface Scoring extends Arrival {
  readonly caller: KeyCaller
  /** Begun while the quota is asked; null: nothing was. */
  readonly early: EarlyScore | null
}

/** The body of a request with an `Idempotency-Key`, and the claim of its key. */
interface EarlyScore {
  readonly body: ScoreBody
  readonly claim: EarlyClaim
}

/** Tells whether a caller's proof is still young. */
export function isProven({ receivedAtMs }: Scoring, clock: Clock): boolean {
  return clock.monotonicMs() - receivedAtMs <= PROOF_LIFE_MS
}

/** Tells whether a caller may score from any address. */
export function isUsualCaller(found: KeyCaller | null): found is KeyCaller {
  return found?.admitsAddress === null && found.scopes.includes(SCORING_KEY.scope)
}

export function readRequest(
  scoring: Scoring,
  body: ScoreBody,
  key: ScoreKey | null,
): SingleRequest {
  const { requestId, receivedAtMs, exchange, span } = scoring
  const { slug, reasons, routingKey, reference } = exchange.head
  return readScoreRequest({
    requestId,
    slug,
    body,
    routingKey,
    reference,
    key,
    receivedAtMs,
    reasons,
    span,
  })
}

/** @returns null for bytes that are not the body of a score */
export function readScoreBody(bytes: Buffer): ScoreBody | null {
  try {
    if (!isUtf8(bytes)) return null
    const body = parseApplicants(bytes.toString(), APPLICANT_NAMES_MAX)
    return isScoreBody(body) ? body : null
  } catch {
    return null
  }
}
