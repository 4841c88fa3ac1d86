import { sql } from 'drizzle-orm'
import { type Database, rowsOf } from '../../platform/db/client.ts'
import { CellModels, type ModelText, type ModelTextStore } from './stored-models.ts'

/** Models in PostgreSQL. */
export class PostgresModelTextStore implements ModelTextStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async modelTexts(modelIds: readonly string[]): Promise<ModelText[]> {
    if (modelIds.length === 0) return []
    // As text, because a driver would parse the specification with JSON.parse, see
    // `parseStoredJson`. In plain SQL, because the thread of the drain needs no table but this.
    return rowsOf<ModelText>(
      this.db,
      sql`select id as "modelId", name, version, spec::text as "specText"
        from models where id in ${[...modelIds]}`,
    )
  }
}

/** The models of a database, for those who write blocks. */
export function modelsOf(db: Database): CellModels {
  return new CellModels(new PostgresModelTextStore(db))
}
