import { fileURLToPath } from 'node:url'
import type { Logger, SQL } from 'drizzle-orm'
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core'
import { openPostgres } from './postgres.ts'

/** PostgreSQL, embedded or not: stores are written against what both have. */
export type Database = PgDatabase<PgQueryResultHKT>
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]

export interface DatabaseHandle {
  readonly db: Database
  /** Gives up the connections for new ones; the embedded database has none. */
  renew(): void
  /** Resolves when the database answers; not among the statements that `queryLog` is told of. */
  ping(): Promise<void>
  /**
   * Opens connections of their own to the same database, for work that must neither wait for the others
   * nor make them wait; ends them with `close`. The embedded database has one for all.
   */
  apart(connectionsMax: number): DatabaseConnections
  /** For connections of other threads; null: the embedded database can't have any. */
  readonly url: string | null
  /** Whether the database forgets dead rows by itself. */
  readonly hasAutovacuum: boolean
  close(): Promise<void>
}

export type DatabaseConnections = Pick<DatabaseHandle, 'db' | 'renew' | 'close'>

export interface DatabaseOptions {
  /** PostgreSQL; null for the embedded database. */
  readonly url: string | null
  /** Where the embedded database lives. */
  readonly directory: string
  /** Told of each statement, with its parameters. */
  readonly queryLog?: Logger
  /** Told once when the embedded database has died; it does not come back by itself. */
  readonly onCrash: (error: Error) => void
}

/** One set for both databases. */
export const MIGRATIONS = {
  migrationsFolder: fileURLToPath(new URL('../../drizzle/migrations', import.meta.url)),
}

/** Opens the database and brings its tables up to date. */
export async function openDatabase(options: DatabaseOptions): Promise<DatabaseHandle> {
  if (options.url !== null) return openPostgres(options.url, options)
  // Loaded only where it is used: a replica over PostgreSQL needs none of its memory.
  const { openPglite } = await import('./pglite.ts')
  return openPglite(options)
}

/** Runs a statement; of its rows the caller knows what they hold. */
export async function rowsOf<Row>(db: Database, statement: SQL): Promise<Row[]> {
  const result: unknown = await db.execute(statement)
  // One driver answers the rows, the other an object that has them.
  return (Array.isArray(result) ? result : (result as { rows: unknown[] }).rows) as Row[]
}
