import type { Logger, SQL } from 'drizzle-orm'
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core'

/** PostgreSQL or the embedded database. Stores use only what both have. */
export type Database = PgDatabase<PgQueryResultHKT>
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]

export interface DatabaseHandle {
  readonly db: Database
  /** Replaces the connections by new ones; the embedded database has none. */
  renew(): void
  /** Resolves when the database answers. `queryLog` does not receive this statement. */
  ping(): Promise<void>
  /**
   * Opens separate connections to the same database, for work that must neither wait for other
   * calls nor delay them. Its `close` ends them. The embedded database shares its one connection.
   */
  apart(connectionsMax: number): DatabaseConnections
  /** For connections from other threads; null: the embedded database allows none. */
  readonly url: string | null
  /** Whether the database removes dead rows by itself. */
  readonly hasAutovacuum: boolean
  close(): Promise<void>
}

export type DatabaseConnections = Pick<DatabaseHandle, 'db' | 'renew' | 'close'>

export interface DatabaseOptions {
  /** PostgreSQL; null for the embedded database. */
  readonly url: string | null
  /** Where the embedded database lives. */
  readonly directory: string
  /** Receives each statement, with its parameters. */
  readonly queryLog?: Logger
  /** Called once when the embedded database has died; it does not come back by itself. */
  readonly onCrash: (error: Error) => void
}

/** What runs single statements. */
export interface Statements {
  execute(statement: SQL): PromiseLike<unknown>
}

/** Runs a statement and returns its rows. The caller knows the type of a row; nothing checks it. */
export async function rowsOf<Row>(db: Statements, statement: SQL): Promise<Row[]> {
  const result: unknown = await db.execute(statement)
  // One driver returns the rows, the other an object that contains them.
  return (Array.isArray(result) ? result : (result as { rows: unknown[] }).rows) as Row[]
}
