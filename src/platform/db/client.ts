import { type Logger, type SQL, sql } from 'drizzle-orm'
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core'

/** PostgreSQL or the embedded database. Stores use only what both have. */
export type Database = PgDatabase<PgQueryResultHKT> & {
  /** Asks on a connection that nobody has used. The embedded database has only one. */
  readonly afresh?: <T>(ask: (db: Database) => Promise<T>) => Promise<T>
}
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]

export interface DatabaseHandle {
  readonly db: Database
  /**
   * Replaces the connections by new ones; the embedded database has none.
   *
   * @param isCertain whether one of them is known to be wrong. Otherwise renewals within a second
   *   count as one
   */
  renew(isCertain?: boolean): void
  /** Resolves when the database answers. `queryLog` does not receive this statement. */
  ping(): Promise<void>
  /**
   * Opens separate connections to the same database, for work that must neither wait for other
   * calls nor delay them. Its `close` ends them. The embedded database shares its one connection.
   */
  apart(connectionsMax: number): DatabaseConnections
  /** For connections from other threads; null: the embedded database allows none. */
  readonly url: string | null
  /** True if the database removes dead rows by itself. */
  readonly hasAutovacuum: boolean
  close(): Promise<void>
}

export type DatabaseConnections = Pick<DatabaseHandle, 'db' | 'renew' | 'close'>

export interface DatabaseOptions {
  /** PostgreSQL; null for the embedded database. */
  readonly url: string | null
  /** Directory of the embedded database. */
  readonly directory: string
  /** Receives each statement, with its parameters. */
  readonly queryLog?: Logger
  /** True if tables that are missing on a server are made; by default they are. */
  readonly migrates?: boolean
  /** Later version whose migrations are accepted although this one does not know them. */
  readonly acceptedVersion?: string | null
  /** Called once when the embedded database has died; it does not come back by itself. */
  readonly onCrash: (error: Error) => void
}

/** A runner of single statements. */
export interface Statements {
  execute(statement: SQL): PromiseLike<unknown>
}

/** Runs a statement and returns its rows. The caller knows the type of a row; nothing checks it. */
export async function queryRows<Row>(db: Statements, statement: SQL): Promise<Row[]> {
  const result: unknown = await db.execute(statement)
  // One driver returns the rows, the other an object that contains them.
  return (Array.isArray(result) ? result : (result as { rows: unknown[] }).rows) as Row[]
}

/** Base of the stores: each reads and writes the tables of one subject. */
export abstract class DatabaseStore {
  protected readonly db: Database

  constructor(db: Database) {
    this.db = db
  }
}

/** Milliseconds since 1970 of a moment. */
export const epochMs = (moment: SQL): SQL => sql`(extract(epoch from ${moment}) * 1000)::float8`

/** A moment as PostgreSQL reads it; either infinity is one. */
export function momentText(epochMs: number): string {
  if (Number.isFinite(epochMs)) return new Date(epochMs).toISOString()
  return epochMs < 0 ? '-infinity' : 'infinity'
}
