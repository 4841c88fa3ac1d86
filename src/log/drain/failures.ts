import { AppError } from '../../errors.ts'
import { rootCause } from '../../platform/db/errors.ts'
import type { Failure } from '../spool/bisect.ts'

/** Data exception and program limit exceeded: the values of a statement are the cause. */
const RECORD_CLASSES = ['22', '54']
/** Out of memory, cancelled after its time limit, internal error: the values may be the cause. */
const UNCLEAR_CODES = ['53200', '57014', 'XX000']
/**
 * The connection was lost during a statement: by the network, a restart, or a record that crashes
 * the server's process.
 */
const LOST_CODES = [
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'ECONNRESET',
  'EPIPE',
  '57P01',
  '57P02',
]

/**
 * Judges by PostgreSQL's code why records could not be stored.
 *
 * A failure counts as the record's own only if that is certain: a quarantined record is missing in
 * the log until an operator adds it. A violated constraint is an error of this code or of the
 * table.
 *
 * @param isLostUnclear whether the records may be the cause of a lost connection: after several
 *   losses in a row, or if only one record was sent
 */
export function classifyFailure(error: unknown, isLostUnclear = false): Failure {
  const cause = rootCause(error)
  const code = readCode(cause) ?? ''
  if (code.length === 5 && RECORD_CLASSES.includes(code.slice(0, 2))) return 'record'
  // A RangeError: the text is longer than V8 allows.
  if (UNCLEAR_CODES.includes(code) || cause instanceof RangeError) return 'unclear'
  return isLostUnclear && isLost(error) ? 'unclear' : 'database'
}

/** Tells whether the database received a statement and did not answer. */
export function isLost(error: unknown): boolean {
  const cause = rootCause(error)
  // The deadline of the statement passed.
  if (cause instanceof AppError) return cause.code === 'unavailable'
  return LOST_CODES.includes(readCode(cause) ?? '')
}

/** Why a record was quarantined, without any of its content. */
export function findReason(error: unknown): string {
  const cause = rootCause(error)
  const code = readCode(cause)
  if (code !== null) return `the database refuses it (${code})`
  return cause instanceof Error ? cause.message : "it can't be stored"
}

function readCode(error: unknown): string | null {
  if (!(error instanceof Error) || error instanceof AppError || !('code' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}
