import { UnsupportedServerError } from './errors.ts'

/**
 * All that reading and writing rely on. A role, a database or a cluster may have set something
 * else, as managed services do.
 */
export const SESSION_SETTINGS = {
  client_encoding: 'UTF8',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  default_transaction_isolation: 'read committed',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
} as const

/** The first of these without rules for characters: it keeps the bytes that it gets. */
const ENCODINGS: readonly unknown[] = ['SQL_ASCII', 'UTF8']

/** The first statement of each session: what the server is, and what became of the settings. */
export const ASK_SESSION = `select version() as version, pg_is_in_recovery() as is_standby,
  ${['server_encoding', ...Object.keys(SESSION_SETTINGS)]
    .map((name) => `current_setting('${name}', true) as "${name}"`)
    .join(', ')}`

/** The answer to `ASK_SESSION`. A server that does not know a setting answers null. */
export type SessionFacts = Readonly<Record<string, unknown>>

/**
 * Refuses a session that the service can't work in. A pooler may have dropped a setting.
 *
 * @throws UnsupportedServerError
 */
export function checkSession(facts: SessionFacts): void {
  if (/CockroachDB/i.test(String(facts['version']))) throw UnsupportedServerError.cockroachDb()
  const encoding = facts['server_encoding'] ?? 'UTF8'
  if (!ENCODINGS.includes(encoding)) throw UnsupportedServerError.encoding(String(encoding))
  for (const [name, needed] of Object.entries(SESSION_SETTINGS)) {
    const set = facts[name] ?? needed
    if (set !== needed) throw UnsupportedServerError.setting(name, { set: String(set), needed })
  }
}
