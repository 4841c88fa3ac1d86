import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate } from 'drizzle-orm/postgres-js/migrator'
import postgres from 'postgres'
import { type DatabaseHandle, type DatabaseOptions, MIGRATIONS } from './client.ts'

/** Any number, the same in all replicas: those that start together migrate one after the other. */
const MIGRATION_LOCK = 7_265_431_902
const CONNECTIONS_MAX = 10
const CONNECT_TIMEOUT_SEC = 5
const STATEMENT_TIMEOUT_MS = 15_000

/** Migrates, then opens a pool of connections to PostgreSQL. */
export async function openPostgres(url: string, options: DatabaseOptions): Promise<DatabaseHandle> {
  await migrateAlone(url)
  const client = postgres(url, {
    max: CONNECTIONS_MAX,
    connect_timeout: CONNECT_TIMEOUT_SEC,
    onnotice: () => {},
    connection: {
      application_name: 'scoreline',
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    },
  })
  const db = drizzle({ client, ...(options.queryLog && { logger: options.queryLog }) })
  return { db, close: () => client.end({ timeout: CONNECT_TIMEOUT_SEC }) }
}

/** On a connection of its own, because the lock belongs to the session; ending it frees the lock. */
async function migrateAlone(url: string): Promise<void> {
  const client = postgres(url, {
    max: 1,
    connect_timeout: CONNECT_TIMEOUT_SEC,
    onnotice: () => {},
  })
  try {
    await client`select pg_advisory_lock(${MIGRATION_LOCK})`
    await migrate(drizzle({ client }), MIGRATIONS)
  } finally {
    await client.end({ timeout: CONNECT_TIMEOUT_SEC })
  }
}
