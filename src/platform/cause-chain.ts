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
