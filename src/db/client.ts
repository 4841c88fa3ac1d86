import { fileURLToPath } from 'node:url'
import type { Logger } from 'drizzle-orm'
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core'
import { openPostgres } from './postgres.ts'

/** PostgreSQL, embedded or not: stores are written against what both have. */
export type Database = PgDatabase<PgQueryResultHKT>
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]

export interface DatabaseHandle {
  readonly db: Database
  /** Gives up the connections for new ones; the embedded database has none. */
  renew(): void
  close(): Promise<void>
}

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
