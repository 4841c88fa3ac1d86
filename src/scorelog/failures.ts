import { rootCause } from '../db/errors.ts'
import { AppError } from '../errors.ts'
import type { Failure } from './bisect.ts'

/** Data exception, program limit exceeded: what a statement was given. */
const RECORD_CLASSES = ['22', '54']
/** Out of memory, cancelled for taking too long, internal error: maybe what it was given. */
const UNCLEAR_CODES = ['53200', '57014', 'XX000']

/**
 * Judges by PostgreSQL's code why records could not be stored.
 *
 * Only what surely is a record's own fault is called so: a record that is set aside is missing in the log
 * until somebody puts it there. A constraint that is violated is a fault of this code or of the table.
 */
export function failureOf(error: unknown): Failure {
  const cause = rootCause(error)
  const code = codeOf(cause) ?? ''
  if (code.length === 5 && RECORD_CLASSES.includes(code.slice(0, 2))) return 'record'
  // Texts longer than V8 takes.
  if (UNCLEAR_CODES.includes(code) || cause instanceof RangeError) return 'unclear'
  return 'database'
}

/** Why a record was set aside, without anything of what is in it. */
export function reasonOf(error: unknown): string {
  const cause = rootCause(error)
  const code = codeOf(cause)
  if (code !== null) return `the database refuses it (${code})`
  return cause instanceof Error ? cause.message : 'it can not be stored'
}

function codeOf(error: unknown): string | null {
  if (!(error instanceof Error) || error instanceof AppError || !('code' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}
