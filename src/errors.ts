import type { ErrorCode } from '../schemas/errors.ts'

/**
 * Faults that a caller can meet, as stable codes; the HTTP status of each is in `http/status.ts`.
 */
export type { ErrorCode }

/** One of several errors in a request, with its path in the body. */
export interface ErrorDetail {
  readonly path: string
  readonly message: string
  /** In a batch: position of the record, from 0. */
  readonly index?: number
  /** In a batch: the record's own id. */
  readonly id?: string | number | null
}

interface AppErrorOptions {
  /** Sent to the caller. */
  readonly details?: readonly ErrorDetail[]
  /** With `rate_limited` and `idempotency_in_progress`: how long to wait, above 0. */
  readonly retryAfterMs?: number
  /** With `unavailable`: it stays so until an operator acts. */
  readonly isLasting?: boolean
  /** With `unavailable`: the score is in the log all the same. */
  readonly isLogged?: boolean
  readonly cause?: unknown
}

/**
 * A failure that the caller sees: they get code, message and details; only the log gets the cause.
 */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: readonly ErrorDetail[] | undefined
  readonly retryAfterMs: number | undefined
  readonly isLasting: boolean
  readonly isLogged: boolean

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.details = options.details
    this.retryAfterMs = options.retryAfterMs
    this.isLasting = options.isLasting === true
    this.isLogged = options.isLogged === true
  }
}

/** Tells whether a score was logged though it failed: its key may not be free. */
export function isLoggedAllTheSame(error: unknown): boolean {
  return error instanceof AppError && error.isLogged
}

/** Tells whether the same work may succeed later, without anybody doing anything. */
export function isAway(error: unknown): boolean {
  return error instanceof AppError && error.code === 'unavailable' && !error.isLasting
}

/** The error at a bound that all teams share. It says nothing about what others do. */
export function serviceBusy(): AppError {
  const message = 'the service has too much to do at the moment: try again in a minute'
  return new AppError('unavailable', message)
}

/** The same error for a deployment that is absent, inactive, or of another team. */
export function deploymentNotFound(): AppError {
  return new AppError('deployment_not_found', 'there is no active deployment with this slug')
}
