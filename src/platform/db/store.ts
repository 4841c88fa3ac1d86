import type { Database } from './client.ts'

/** Base of the stores: each reads and writes the tables of one subject. */
export abstract class DatabaseStore {
  protected readonly db: Database

  constructor(db: Database) {
    this.db = db
  }
}
