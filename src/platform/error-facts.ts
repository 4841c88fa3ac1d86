import { AppError } from '../errors.ts'

/**
 * Facts that may be logged of an error: its kind and its place, never a parameter, a row or a
 * message.
 */
interface ErrorFacts {
  readonly name: string
  readonly code?: string
  readonly constraint?: string
  /** Absent where something was unavailable: the place says nothing of it. */
  readonly frames?: readonly string[]
  readonly cause?: ErrorFacts
}

const FRAMES_MAX = 12

/**
 * Describes an error for the log without personal data.
 *
 * Messages are left out: those of databases and parsers quote values, and those of drizzle hold all
 * parameters of a statement.
 */
export function errorFacts(error: unknown): ErrorFacts {
  return readFacts(error, !(error instanceof AppError && error.code === 'unavailable'))
}

function readFacts(error: unknown, hasFrames: boolean): ErrorFacts {
  if (!(error instanceof Error)) return { name: typeof error, frames: [] }
  const { code, constraint_name: constraint } = error as {
    code?: unknown
    constraint_name?: unknown
  }
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return {
    name: error.name,
    ...(typeof code === 'string' && { code }),
    ...(typeof constraint === 'string' && { constraint }),
    ...(hasFrames && { frames: frames.slice(0, FRAMES_MAX).map((line) => line.trim()) }),
    ...(error.cause !== undefined && { cause: readFacts(error.cause, hasFrames) }),
  }
}

/**
 * Returns the error and the errors that caused it, outermost first; empty if it is not an Error.
 */
export function causeChain(error: unknown): Error[] {
  return error instanceof Error ? [error, ...causeChain(error.cause)] : []
}

/**
 * Returns the first failure of an opening. If closing what was already open fails too, JavaScript
 * wraps both errors in a `SuppressedError`; an operator needs the first one.
 */
export function firstFailure(error: unknown): unknown {
  return error instanceof SuppressedError ? firstFailure(error.suppressed) : error
}
