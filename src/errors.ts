import type { ErrorCode } from '../schemas/errors.ts'

/** What can go wrong for a caller, as stable codes; the HTTP status of each is in `http/status.ts`. */
export type { ErrorCode }

/** One of several things wrong with a request, at its path in the body. */
export interface ErrorDetail {
  readonly path: string
  readonly message: string
  /** In a batch: position of the record, from 0. */
  readonly index?: number
  /** In a batch: the record's own id. */
  readonly id?: string | number | null
}

interface AppErrorOptions {
  /** Goes out to the caller. */
  readonly details?: readonly ErrorDetail[]
  /** With `rate_limited`: how long to wait, above 0. */
  readonly retryAfterMs?: number
  readonly cause?: unknown
}

/** A failure the caller is told about: code, message and details go out, the cause only to the log. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: readonly ErrorDetail[] | undefined
  readonly retryAfterMs: number | undefined

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.details = options.details
    this.retryAfterMs = options.retryAfterMs
  }
}

/** The one answer for a deployment that is absent, inactive, or not the caller's to see. */
export function deploymentNotFound(): AppError {
  return new AppError('deployment_not_found', 'there is no active deployment with this slug')
}
