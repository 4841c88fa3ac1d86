import type { components } from './openapi.ts'

/** Every code that the service of this version answers; a newer service may have more. */
export type ErrorCode = components['schemas']['ErrorCode']
export type ErrorDetail = components['schemas']['ErrorDetail']
type ErrorBody = components['schemas']['ErrorBody']

export interface Refusal {
  readonly status: number
  readonly body: ErrorBody
  /** Wait that the answer asks for, from its body or its header; null if it asks for none. */
  readonly retryAfterMs: number | null
  /** Attempts that were made, this one included. */
  readonly attempts: number
}

type ScoredRecord = components['schemas']['ScoredRecord']

/** A call that failed, whatever the reason: what was scored before, and how to go on. */
export class CallError extends Error {
  /** The results that `scoreBatch` had before the failure; otherwise null. */
  scored: readonly ScoredRecord[] | null = null
  /**
   * The same call with this key, within 24 hours, scores and logs nobody twice; null for a call
   * without one.
   */
  idempotencyKey: string | null = null
}

/** The service answered with an error. Decide by `code`; the message may change. */
export class ScorelineError extends CallError {
  readonly code: ErrorCode
  readonly status: number
  /** Give it to the operator of the service: it is in the log. */
  readonly requestId: string
  /** What is wrong where; empty if the error has no details. */
  readonly details: readonly ErrorDetail[]
  readonly retryAfterMs: number | null
  readonly attempts: number

  constructor({ status, body, retryAfterMs, attempts }: Refusal) {
    super(`${body.error}: ${body.message} (${body.request_id})`)
    this.name = 'ScorelineError'
    this.code = body.error
    this.status = status
    this.requestId = body.request_id
    this.details = body.details ?? []
    this.retryAfterMs = retryAfterMs
    this.attempts = attempts
  }
}

export interface Silence {
  /**
   * `time_out`: no complete answer came in time. `connection`: the connection failed or broke.
   * `foreign_answer`: something else than the service answered, such as a proxy, or what came is
   * not the answer for these applicants, or is too long.
   */
  readonly reason: 'time_out' | 'connection' | 'foreign_answer'
  readonly attempts: number
  /** Status of a foreign answer. */
  readonly status?: number
  /** Wait that a foreign answer asks for. */
  readonly retryAfterMs?: number | null
  readonly cause?: unknown
}

/** The service gave no answer. Whether it executed the request is not known. */
export class NoAnswerError extends CallError {
  readonly reason: Silence['reason']
  readonly attempts: number
  /** Status of a foreign answer, otherwise null. */
  readonly status: number | null
  readonly retryAfterMs: number | null

  constructor(message: string, { reason, attempts, status, retryAfterMs, cause }: Silence) {
    super(message, { cause })
    this.name = 'NoAnswerError'
    this.reason = reason
    this.attempts = attempts
    this.status = status ?? null
    this.retryAfterMs = retryAfterMs ?? null
  }
}
