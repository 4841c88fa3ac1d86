/** The driver's codes for a connection that can't be had or was lost, and `NoPrimaryError`'s. */
const CONNECTION_CODES = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECT_TIMEOUT',
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'NO_PRIMARY',
])
/** The server ended a transaction that stood still, as that of a frozen process. */
const IDLE_IN_TRANSACTION = '25P03'
/** The server is a standby. A primary that was demoted keeps connections, or takes new ones. */
const TAKES_NO_WRITES = '25006'
/** Classes of PostgreSQL: connection exception, insufficient resources, operator intervention. */
const UNAVAILABLE_CLASSES = ['08', '53', '57']
/** The server ends, has crashed, or starts. */
const ENDING_CODES = ['57P01', '57P02', '57P03']
const CONNECTION_CLASS = '08'
const UNIQUE_VIOLATION = '23505'
/** Code of `UnsupportedServerError`. */
const COCKROACHDB = 'COCKROACHDB'

/** Whether the same statement may succeed later, because it failed while the database was away. */
export function isDatabaseUnavailable(error: unknown): boolean {
  const code = codeOf(rootCause(error))
  if (code === undefined) return false
  return (
    CONNECTION_CODES.has(code) ||
    code === IDLE_IN_TRANSACTION ||
    code === TAKES_NO_WRITES ||
    (code.length === 5 && UNAVAILABLE_CLASSES.includes(code.slice(0, 2)))
  )
}

/**
 * Whether the server itself said that it ends or takes no writes: no connection to it is of use,
 * and another server may be the primary.
 */
export function isServerGone(error: unknown): boolean {
  const code = codeOf(rootCause(error))
  if (code === undefined) return false
  const isConnectionException = code.length === 5 && code.startsWith(CONNECTION_CLASS)
  return code === TAKES_NO_WRITES || ENDING_CODES.includes(code) || isConnectionException
}

/** The server follows another one, and takes no writes. */
export class StandbyError extends Error {
  readonly code = TAKES_NO_WRITES

  constructor() {
    super('the server is a standby')
  }
}

/** The server speaks PostgreSQL's protocol and lacks what the service relies on. */
export class UnsupportedServerError extends Error {
  readonly code = COCKROACHDB

  constructor() {
    super('the server is CockroachDB')
  }
}

/** Whether a statement failed because a row with the same key exists. */
export function isDuplicate(error: unknown): boolean {
  return codeOf(rootCause(error)) === UNIQUE_VIOLATION
}

/** The error that the driver threw, inside the errors that wrap it. */
export function rootCause(error: unknown): unknown {
  let cause = error
  while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause
  return cause
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

/** Reasons, by PostgreSQL's code, in the words of the person who configures the connection. */
const OPEN_FAILURES: Readonly<Record<string, string>> = {
  '28000': 'the server refuses the user',
  '28P01': 'the server refuses the password',
  '3D000': 'the database does not exist',
  '42501': 'the user may not create tables',
  '53300': 'the server has no connection left',
  [TAKES_NO_WRITES]:
    'the server is a standby; name the primary, or all servers with target_session_attrs=primary',
  [COCKROACHDB]:
    'it is CockroachDB, whose advisory locks lock nothing: replicas would migrate at the same time and count sums twice; use PostgreSQL',
  NO_PRIMARY: 'none of its servers is a primary that can be reached',
}

/**
 * The database can't be opened. The message names the variable and the reason, never the variable's
 * value.
 */
export class DatabaseOpenError extends Error {
  constructor(variable: string, cause: unknown) {
    const code = codeOf(rootCause(cause)) ?? 'unknown error'
    const isAway = CONNECTION_CODES.has(code)
    const reason = OPEN_FAILURES[code] ?? (isAway ? "the server can't be reached" : 'it failed')
    super(`the database of ${variable} can't be opened: ${reason} (${code})`)
    this.name = 'DatabaseOpenError'
  }
}
