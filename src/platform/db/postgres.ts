import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate } from 'drizzle-orm/postgres-js/migrator'
import type { Sql } from 'postgres'
import { LaterVersionError } from '../version.ts'
import type { Database, DatabaseConnections, DatabaseHandle, DatabaseOptions } from './client.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import { readDatabaseUrl } from './database-url.ts'
import { DatabaseOpenError, MissingTablesError, StandbyError } from './errors.ts'
import { DATABASE_DEADLINE_MS } from './guard.ts'
import { type Client, clientOn, Pool } from './pool.ts'
import { PrimaryFinder } from './primary-finder.ts'
import { checkMigrations, MIGRATIONS, noteRelease } from './releases.ts'
import { checkRights } from './rights.ts'

/**
 * Any number, the same in all replicas: replicas that start together migrate one after the other.
 */
export const MIGRATION_LOCK = 7_265_431_902
const CONNECTIONS_MAX = 10
/**
 * Below `DATABASE_DEADLINE_MS`, so that the server ends a slow statement before its caller gives
 * up.
 */
const STATEMENT_TIMEOUT_MS = 8_000
/**
 * A process that was frozen amid a transaction of its background work loses it after this time, and
 * with it the locks for which other replicas wait. Between two statements such work computes for
 * milliseconds.
 */
const BACKGROUND_IDLE_MS = 2_000

/** Migrates, then opens a pool of connections to PostgreSQL. */
export async function openPostgres(url: string, options: DatabaseOptions): Promise<DatabaseHandle> {
  const pool = poolTo(url, CONNECTIONS_MAX, STATEMENT_TIMEOUT_MS)
  try {
    await migrateAlone(url, options)
    // The server may refuse the settings of the pool although it accepted those of the migration.
    await pool.unsafe('select 1')
  } catch (error) {
    await pool.close()
    if (error instanceof LaterVersionError) throw error
    throw new DatabaseOpenError('DATABASE_URL', error)
  }
  const apart = (connectionsMax: number) =>
    connectionsOver(poolTo(url, connectionsMax, BACKGROUND_IDLE_MS), options)
  const ping = async () => {
    const [row] = await pool.unsafe('select pg_is_in_recovery() as is_standby')
    if (row?.['is_standby'] !== true) return
    pool.renew()
    throw new StandbyError()
  }
  return { ...connectionsOver(pool, options), ping, apart, url, hasAutovacuum: true }
}

/**
 * Opens a database without migrating it: for a thread of a process that has migrated it already.
 */
export function connectPostgres(url: string, connectionsMax: number): DatabaseConnections {
  return connectionsOver(poolTo(url, connectionsMax, BACKGROUND_IDLE_MS), {})
}

function connectionsOver(
  pool: Pool,
  { queryLog }: Pick<DatabaseOptions, 'queryLog'>,
): DatabaseConnections {
  const over = (client: Client): Database =>
    drizzle({ client: readDriver(client), ...(queryLog && { logger: queryLog }) })
  const afresh: Database['afresh'] = (ask) => pool.afresh((client) => ask(over(client)))
  const db = Object.assign(over(pool), { afresh })
  return { db, renew: (isCertain) => pool.renew(isCertain), close: () => pool.close() }
}

/** Drizzle takes the driver, and uses what `Client` has. */
function readDriver(client: Client): Sql {
  return client as unknown as Sql
}

/** @param idleMs longest time between two statements of a transaction */
function poolTo(url: string, connectionsMax: number, idleMs: number): Pool {
  const timeouts = { statement: STATEMENT_TIMEOUT_MS, idle: idleMs }
  return new Pool(connectionOptions(url, timeouts), connectionsMax)
}

/** @param timeouts milliseconds; 0: none */
function connectionOptions(
  text: string,
  timeouts: { readonly statement: number; readonly idle: number },
): ConnectionOptions {
  const address = readDatabaseUrl(text)
  const finder = address.servers.length === 0 ? null : new PrimaryFinder(address)
  return {
    url: address.url,
    settings: {
      // The migrations name it.
      search_path: 'public',
      statement_timeout: `${timeouts.statement}`,
      idle_in_transaction_session_timeout: `${timeouts.idle}`,
      lock_timeout: '0',
    },
    ...(finder !== null && { findServer: () => finder.find() }),
  }
}

/**
 * Migrates under a lock, so that one replica at a time does so.
 *
 * It uses a connection of its own: the lock belongs to the session, and ending the session frees
 * it. It takes no lock if the database is up to date: a transaction pooler would never free that
 * lock.
 */
async function migrateAlone(
  url: string,
  {
    acceptedVersion = null,
    migrates = true,
  }: Pick<DatabaseOptions, 'acceptedVersion' | 'migrates'>,
): Promise<void> {
  const connection = new Connection(connectionOptions(url, { statement: 0, idle: 0 }))
  try {
    const facts = await connection.open()
    if (facts['is_standby'] === true) throw new StandbyError()
    const quick = clientOn(connection, DATABASE_DEADLINE_MS)
    const quickDb = drizzle({ client: readDriver(quick) })
    const isUpToDate = () => checkMigrations(quickDb, 'DATABASE_URL', acceptedVersion)
    if (await isUpToDate()) return await checkRights(quickDb)
    if (!migrates) throw new MissingTablesError()
    const unbounded = clientOn(connection, null)
    await unbounded.unsafe('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    // Another replica may have migrated meanwhile, a later version among them.
    if (await isUpToDate()) return
    const db = drizzle({ client: readDriver(unbounded) })
    await migrate(db, MIGRATIONS)
    await noteRelease(db)
  } finally {
    await connection.end()
  }
}
