import type { Static } from '@sinclair/typebox'
import {
  BATCH_RECORDS_MAX,
  type ScoreBatchRequest,
  type ScorecardBatchRequest,
} from '../../schemas/scoring.ts'
import type { Applicant } from '../engine/index.ts'
import { REPEATED_NAMES } from '../platform/json.ts'
import type { RequestSpan } from '../platform/tracing/request-span.ts'
import { readRepeatedNames } from './input-faults.ts'
import { reasonsWanted } from './reason-texts.ts'
import type { BatchRequest } from './requests.ts'
import type { ServingDeployment } from './serving.ts'
import type { ValueTotals } from './value-counts.ts'

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

/** The response to a batch, in memory that is used again. */
export interface BatchResponse {
  readonly bytes: Buffer
  /**
   * To be called once, after the last byte was sent; never if the response was not sent completely.
   */
  readonly sent: () => void
}

interface ScoredBatchFacts {
  readonly deployment: ServingDeployment
  readonly response: BatchResponse
  /** Its rows in the score log. */
  readonly rows: Uint8Array
  readonly records: number
  readonly bucket: number | null
  /** Position of the model that answered, the champion's is 0. */
  readonly served: number
  readonly scoredAtMs: number
  readonly values: ValueTotals
}

/** A batch that a thread has scored, and that is not logged yet. */
export class ScoredBatch {
  readonly facts: ScoredBatchFacts

  constructor(facts: ScoredBatchFacts) {
    this.facts = facts
  }
}

const OPEN_OBJECT = 0x7b
/** A cell of a record, named or not, costs as much as so many bytes of a usual body. */
const CELL_BYTES = 8
/** Many models and features weigh no more than the largest body: no legal batch is without room. */
const WEIGHT_MAX = 16 * 1024 * 1024

/**
 * Weighs a batch, in bytes of a usual body that takes as long to score. A record takes as long as
 * its card has features, also where it names none: 1,000 times `{}` on a card of 1,000 features
 * held up single scores for 270 ms.
 *
 * @param features of all models, see `countFeatures`
 */
export function weighBatch(body: Uint8Array, features: number): number {
  const cells = Math.min(CELL_BYTES * features * countRecords(body), WEIGHT_MAX)
  return Math.max(body.length, cells)
}

/** The features that each record of a batch is looked through for. */
export function countFeatures({ champion, challengers }: ServingDeployment): number {
  let count = champion.modelScore.slots.length
  for (const { serving } of challengers) count += serving?.modelScore.slots.length ?? 0
  return count
}

/** At least the number of records, each of which is an object, up to those of a legal batch. */
function countRecords(body: Uint8Array): number {
  let count = 0
  for (let at = body.indexOf(OPEN_OBJECT); at !== -1; at = body.indexOf(OPEN_OBJECT, at + 1)) {
    if (++count === BATCH_RECORDS_MAX) break
  }
  return count
}
