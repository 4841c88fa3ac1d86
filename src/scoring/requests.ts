import type { Applicant } from '../engine/index.ts'
import type { ScoreKey } from '../log/index.ts'
import type { RequestSpan } from '../platform/tracing/request-span.ts'
import type { ReasonsWanted } from './reason-texts.ts'

/** The way an answer names its deployment: `/api/v1` calls it a scorecard. */
export type AnswerForm = 'deployment' | 'scorecard'

export interface ScoreRequest {
  readonly requestId: string
  readonly deploymentId: string
  /** True if the request asks for strict mode. A strict deployment always has it. */
  readonly strictMode: boolean
  readonly form: AnswerForm
  /** Keeps a subject on one model of a live split; undefined: the request's id decides. */
  readonly routingKey: string | undefined
  /** When its headers had arrived, in milliseconds of the monotonic clock. */
  readonly receivedAtMs: number
  /** Null or absent: the answer has no reasons. */
  readonly reasons?: ReasonsWanted | null
  /** Null or absent: the request does not become a span. */
  readonly span?: RequestSpan | null
}

export interface SingleRequest extends ScoreRequest {
  readonly applicant: Applicant
  /** The lender's application number for the log; null for none. */
  readonly reference: string | null
  /** Its `Idempotency-Key` for the log; null or absent for none. */
  readonly key?: ScoreKey | null
  /** A key of the applicant object that is not a variable. */
  readonly reservedName: string | undefined
}

export interface BatchRequest extends ScoreRequest {
  readonly records: readonly Applicant[]
  readonly includeContributions: boolean
}
