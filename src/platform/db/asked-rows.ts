import type { Database } from './client.ts'

/** The database has answered with something else than was asked for. */
export class ForeignRowError extends Error {
  constructor(what: string) {
    super(`the database has answered a question with ${what}`)
    this.name = 'ForeignRowError'
  }
}

/**
 * Returns the row that was asked for by its key; null: there is none.
 *
 * It is the second lock behind `Connection`: whatever a driver does, nobody gets the key, the
 * deployment or the session of somebody else.
 *
 * @throws ForeignRowError if a row is not the one that was asked for
 */
export function askedRow<Row>(rows: readonly Row[], isAsked: (row: Row) => boolean): Row | null {
  if (!rows.every(isAsked)) throw new ForeignRowError('the row of another one')
  return rows[0] ?? null
}

/**
 * Asks once more, on a fresh connection, if nothing was found: for whoever removes, makes or begins
 * something because there is no row.
 */
export async function askTwice<Found>(
  db: Database,
  ask: (db: Database) => Promise<Found | null>,
): Promise<Found | null> {
  return (await ask(db)) ?? (await db.afresh?.(ask)) ?? null
}
