import { VERSION } from '../version.ts'

/** Codes of the driver, of `ConnectionError` and `NoPrimaryError`: there is no connection. */
const CONNECTION_CODES = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECTIONS_BUSY',
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
  'NO_TLS',
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
/** Shape of PostgreSQL's codes; those of systems and drivers have no digit in five characters. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/
/**
 * Classes of what a statement or its values are at fault for: cardinality, data, constraints,
 * syntax, a check of a view, limits of the program, and what our own functions raise.
 */
const STATEMENT_CLASSES = ['21', '22', '23', '42', '44', '54', 'P0']
/** A right, a table or a column was taken away: class 42, and no statement's fault. */
const TAKEN_AWAY_CODES = ['42501', '42P01', '42703']
/** A time limit, a lock, or another transaction: the same statement may succeed soon. */
const BUSY_CODES = ['57014', '55P03', '40001', '40P01', 'CONNECTIONS_BUSY']
/** Prefixes of what TLS and authentication of a new connection fail with. */
const REFUSED_CONNECTION =
  /^(?:CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|ERR_TLS_|ERR_SSL_|EPROTO|SASL_|AUTH_TYPE_)/
/** No file is left for a connection, or a firewall forbids it. */
const REFUSED_BY_SYSTEM = ['EMFILE', 'ENFILE', 'EPERM', 'EACCES', 'ENOENT']
/** Classes that refuse every new connection: login, and a database that does not exist. */
const LOGIN_CLASSES = ['28', '3D']
/** A page, or an index, that fails its checks. */
const CORRUPT_CODES: ReadonlySet<string> = new Set(['XX001', 'XX002'])

/**
 * Why a call of the database failed.
 *
 * - `statement`: by the statement or its values. It is an answer, and comes again each time.
 * - `busy`: by a time limit, a lock or another transaction. It says nothing of the others.
 * - `away`: the database is not there, or is there and does not do its work.
 */
type CallFailure = 'statement' | 'busy' | 'away'

/**
 * Judges why a call failed. A server that refuses (the login, a right, a damaged page) is as
 * unavailable as one that says nothing: only a fault of the statement is an answer.
 */
export function classifyCallFailure(error: unknown): CallFailure {
  const code = readDatabaseCode(error)
  if (code === undefined) return 'statement'
  if (BUSY_CODES.includes(code)) return 'busy'
  if (SQLSTATE.test(code)) {
    const isOfStatement = STATEMENT_CLASSES.includes(code.slice(0, 2))
    return isOfStatement && !TAKEN_AWAY_CODES.includes(code) ? 'statement' : 'away'
  }
  const isAway =
    isDatabaseUnavailable(error) ||
    rootCause(error) instanceof UnsupportedServerError ||
    REFUSED_CONNECTION.test(code) ||
    REFUSED_BY_SYSTEM.includes(code)
  return isAway ? 'away' : 'statement'
}

/** Code of what failed: PostgreSQL's, the driver's or the system's. */
export function readDatabaseCode(error: unknown): string | undefined {
  return readCode(rootCause(error))
}

/** Tells whether a server gave the code, and not the way to it. */
export function isOfServer(code: string): boolean {
  return SQLSTATE.test(code) && !UNAVAILABLE_CLASSES.includes(code.slice(0, 2))
}

/** Tells whether a code of a server holds for every new connection. */
export function isRefusedLogin(code: string): boolean {
  return LOGIN_CLASSES.includes(code.slice(0, 2))
}

/**
 * Tells whether no connection can be had, or it was lost. A server that refuses is not meant: see
 * `classifyCallFailure`.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  const code = readCode(rootCause(error))
  if (code === undefined) return false
  return (
    CONNECTION_CODES.has(code) ||
    code === IDLE_IN_TRANSACTION ||
    code === TAKES_NO_WRITES ||
    (code.length === 5 && UNAVAILABLE_CLASSES.includes(code.slice(0, 2)))
  )
}

/**
 * Tells whether the server itself said that it ends or takes no writes: no connection to it is of
 * use, and another server may be the primary.
 */
export function isServerGone(error: unknown): boolean {
  const code = readCode(rootCause(error))
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

const CONNECTION_FAILURES = {
  CONNECTION_CLOSED: 'the server ended the connection',
  CONNECTION_ENDED: 'the connections are closed',
  CONNECTIONS_BUSY: 'no connection became free in time',
  CONNECT_TIMEOUT: 'the server does not answer',
  NO_TLS: 'the server takes no TLS',
  TRANSACTION_OVER: 'the transaction of this statement is over',
} as const

/** A statement was not answered, for a reason that the server did not give. */
export class ConnectionError extends Error {
  readonly code: keyof typeof CONNECTION_FAILURES

  constructor(code: keyof typeof CONNECTION_FAILURES) {
    super(CONNECTION_FAILURES[code])
    this.code = code
  }
}

/** The server, the database or the session lacks what the service relies on. */
export class UnsupportedServerError extends Error {
  readonly code: string

  private constructor(code: string, message: string) {
    super(message)
    this.code = code
  }

  static cockroachDb(): UnsupportedServerError {
    return new UnsupportedServerError(
      'COCKROACHDB',
      'it is CockroachDB, whose advisory locks lock nothing: replicas would migrate at the same time and count sums twice; use PostgreSQL',
    )
  }

  static encoding(encoding: string): UnsupportedServerError {
    return new UnsupportedServerError(
      'ENCODING',
      `its encoding is ${encoding}, which lacks most characters; create it with the encoding UTF8`,
    )
  }

  static setting(name: string, { set, needed }: { set: string; needed: string }) {
    return new UnsupportedServerError(
      'SESSION_SETTING',
      `a pooler drops the setting ${name}: it is '${set}', and must be '${needed}'; give it to the role`,
    )
  }
}

/** The role of the database lacks rights that the service needs later. */
export class MissingRightsError extends Error {
  readonly code = 'MISSING_RIGHTS'

  constructor(role: string) {
    super(
      `the role ${role} may not change partitions of the log; run scoreline migrate --grant-to ${role} as the owner of the tables`,
    )
  }
}

/** The database lacks tables of this version, and this process is not to make them. */
export class MissingTablesError extends Error {
  readonly code = 'MISSING_TABLES'

  constructor() {
    super(
      `it lacks tables of version ${VERSION}; run scoreline migrate, or a command of the version that serves`,
    )
  }
}

/**
 * Tells whether a statement failed because bytes that it read from the server's disk are damaged.
 */
export function isDataCorrupt(error: unknown): boolean {
  return CORRUPT_CODES.has(readCode(rootCause(error)) ?? '')
}

/** The error that the driver threw, inside the errors that wrap it. */
export function rootCause(error: unknown): unknown {
  let cause = error
  while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause
  return cause
}

function readCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

/** Reasons, by PostgreSQL's code, in the words of the person who configures the connection. */
const OPEN_FAILURES: Readonly<Record<string, string>> = {
  '08P01': 'a pooler refuses a setting of the session; docs/databases.md names those to ignore',
  '28000': 'the server refuses the user',
  '28P01': 'the server refuses the password',
  '3D000': 'the database does not exist',
  '42501':
    'the user lacks a right; run scoreline migrate as the owner of the tables, with --grant-to for this user',
  '53300': 'the server has no connection left',
  [TAKES_NO_WRITES]:
    'the server is a standby; name the primary, or all servers with target_session_attrs=primary',
  CONNECTION_CLOSED: 'the server ends each connection before it answers',
  CONNECT_TIMEOUT: 'the server does not answer',
  NO_TLS: 'the server takes no TLS, which sslmode asks for',
  NO_PRIMARY: 'none of its servers is a primary that can be reached',
}

const EXPLAINED = [UnsupportedServerError, MissingRightsError, MissingTablesError]

/**
 * The database can't be opened. The message names the variable and the reason, never the variable's
 * value.
 */
export class DatabaseOpenError extends Error {
  /** True if the same attempt may succeed later. */
  readonly isPassing: boolean

  constructor(variable: string, cause: unknown) {
    const root = rootCause(cause)
    const code = readCode(root) ?? 'unknown error'
    const isAway = CONNECTION_CODES.has(code)
    const isExplained = EXPLAINED.some((kind) => root instanceof kind)
    const ownReason = isExplained ? (root as Error).message : OPEN_FAILURES[code]
    const reason = ownReason ?? (isAway ? "the server can't be reached" : 'it failed')
    super(`the database of ${variable} can't be opened: ${reason} (${code})`)
    this.name = 'DatabaseOpenError'
    this.isPassing =
      !isExplained && (isDatabaseUnavailable(cause) || classifyCallFailure(cause) === 'away')
  }
}
