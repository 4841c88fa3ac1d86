import { namesSeveral, POSTGRES_PORT, type ServerAddress, serversIn } from '../server-list.ts'

/** A `DATABASE_URL` in the parts that the driver takes. */
export interface DatabaseAddress {
  /** With one host: the only one, or the first of several. */
  readonly url: string
  /** All of several servers, one of which is the primary; empty if the URL names one. */
  readonly servers: readonly ServerAddress[]
}

const PROTOCOLS = ['postgres:', 'postgresql:']
const ATTRIBUTES = 'target_session_attrs'
const TLS_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']

/**
 * Reads a `DATABASE_URL`, which may name several servers with commas between them. `URL` refuses
 * such a list if it has ports, and the driver takes no IPv6 address in it.
 *
 * @throws TypeError if `databaseUrlFault` finds a fault in the list
 */
export function readDatabaseUrl(text: string): DatabaseAddress {
  if (!namesSeveral(text)) return { url: text, servers: [] }
  const list = serversIn(text, POSTGRES_PORT)
  const [first] = list?.servers ?? []
  if (list === null || first === undefined) throw new TypeError('the URL names no server')
  return { url: list.withHost(first), servers: list.servers }
}

/**
 * Checks a `DATABASE_URL`.
 *
 * @returns what is wrong, to be read after the name of the variable, without the text itself; null
 *   if nothing is
 */
export function databaseUrlFault(text: string): string | null {
  const list = namesSeveral(text) ? serversIn(text, POSTGRES_PORT) : null
  if (namesSeveral(text) && list === null) {
    return 'must name each of several hosts as HOST or HOST:PORT, with commas between them'
  }
  const [first] = list?.servers ?? []
  const url = URL.parse(list === null || first === undefined ? text : list.withHost(first))
  if (url === null || !PROTOCOLS.includes(url.protocol)) {
    return `must be a URL that starts with ${PROTOCOLS.join('// or ')}//`
  }
  if (!isPercentEncoded(`${url.username}${url.password}${url.pathname}`)) {
    return 'must have %25 in place of % in the user, the password and the name of the database'
  }
  const mode = url.searchParams.get('sslmode')
  if (mode !== null && !TLS_MODES.includes(mode)) {
    return `must have one of these as sslmode: ${TLS_MODES.join(', ')}`
  }
  return attributesFault(url.searchParams.get(ATTRIBUTES), list !== null)
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function attributesFault(attributes: string | null, isList: boolean): string | null {
  if (attributes === 'primary') return null
  if (isList && attributes === 'read-write') {
    return `must have ${ATTRIBUTES}=primary in place of read-write: that also takes a hot standby`
  }
  if (isList) return `must have ${ATTRIBUTES}=primary where it names several hosts`
  if (attributes === null || attributes === 'read-write') return null
  return `must have ${ATTRIBUTES}=primary or none, because the service writes`
}
