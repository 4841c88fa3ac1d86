import type { Static } from '@sinclair/typebox'
import type { ScoreBatchRequest, ScorecardBatchRequest } from '../../schemas/scoring.ts'
import type { Applicant } from '../engine/index.ts'
import { REPEATED_NAMES } from '../platform/json.ts'
import type { RequestSpan } from '../platform/tracing/request-span.ts'
import { readRepeatedNames } from './input-faults.ts'
import { reasonsWanted } from './reason-texts.ts'
import type { BatchRequest } from './requests.ts'

export interface BatchCall<Body> {
  readonly requestId: string
  readonly body: Body
  readonly routingKey: string | undefined
  readonly receivedAtMs: number
  /** Null if the request does not become a span. */
  readonly span: RequestSpan | null
}

/** The batch of `POST /v1/score/{slug}/batch`. */
export function readBatchRequest({
  slug,
  ...call
}: BatchCall<Static<typeof ScoreBatchRequest>> & { readonly slug: string }): BatchRequest {
  const records = noted(call.body.records, call.body)
  return { ...sharedFields(call), form: 'deployment', deploymentId: slug, records }
}

/** The batch of `POST /api/v1/score/batch`. */
export function readScorecardBatch(
  call: BatchCall<Static<typeof ScorecardBatchRequest>>,
): BatchRequest {
  const { scorecard_id: deploymentId, applicants } = call.body
  const records = noted(applicants, call.body)
  return { ...sharedFields(call), form: 'scorecard', deploymentId, records }
}

/**
 * Notes names that the body says more than once with each of its records: of two lists of records
 * the last one is scored, and a batch has no warnings of its own.
 */
function noted(records: readonly Applicant[], body: Applicant): readonly Applicant[] {
  const repeated = [...new Set(readRepeatedNames(body))]
  if (repeated.length === 0) return records
  return records.map((record) => ({
    ...record,
    [REPEATED_NAMES]: [...repeated, ...readRepeatedNames(record)],
  }))
}

type SharedBody = Omit<Static<typeof ScoreBatchRequest>, 'records'>

function sharedFields({ body, ...facts }: BatchCall<SharedBody>) {
  return {
    ...facts,
    strictMode: body.strict_mode ?? false,
    includeContributions: body.include_contributions ?? false,
    reasons: reasonsWanted(body.include_reasons, body.lang),
  }
}

const ID_NAME = '"scorecard_id"'
const ID_CHARS_MAX = 100

/**
 * Finds the deployment that the body of `/api/v1` seems to name, without parsing it.
 *
 * @returns what stands after the first such name, which can be that of a value of an applicant
 */
export function likelyScorecardId(body: Buffer): string | null {
  const at = body.indexOf(ID_NAME)
  if (at === -1) return null
  const text = body.toString('latin1', at + ID_NAME.length, at + ID_NAME.length + ID_CHARS_MAX)
  return /^\s*:\s*"(dep_\w+)"/.exec(text)?.[1] ?? null
}
