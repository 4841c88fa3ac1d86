import type { Static } from '@sinclair/typebox'
import type { ScoreBatchRequest } from '../../schemas/scoring.ts'
import type { RequestSpan } from '../platform/tracing/request-span.ts'
import { reasonsWanted } from './reason-texts.ts'
import type { BatchRequest } from './requests.ts'

interface BatchCall {
  readonly requestId: string
  readonly slug: string
  readonly body: Static<typeof ScoreBatchRequest>
  readonly routingKey: string | undefined
  readonly receivedAtMs: number
  /** Null if the request does not become a span. */
  readonly span: RequestSpan | null
}

/** The batch of `POST /v1/score/{slug}/batch`. */
export function batchRequestOf(call: BatchCall): BatchRequest {
  const { requestId, slug, body, routingKey, receivedAtMs, span } = call
  return {
    requestId,
    deploymentId: slug,
    records: body.records,
    strictMode: body.strict_mode ?? false,
    includeContributions: body.include_contributions ?? false,
    form: 'deployment',
    reasons: reasonsWanted(body.include_reasons, body.lang),
    routingKey,
    receivedAtMs,
    span,
  }
}
