import { sql } from 'drizzle-orm'
import { type Database, queryRows } from '../../platform/db/client.ts'
import { DatabaseStore } from '../../platform/db/store.ts'
import { CellModels, type ModelText } from './stored-models.ts'

export class ModelTextStore extends DatabaseStore {
  /** Models with these ids; unknown ids are left out. */
  async modelTexts(modelIds: readonly string[]): Promise<readonly ModelText[]> {
    if (modelIds.length === 0) return []
    // As text, because a driver would parse the specification with JSON.parse, see
    // `parseStoredJson`. In plain SQL, because the thread of the drain needs no table but this.
    return queryRows<ModelText>(
      this.db,
      sql`select id as "modelId", name, version, spec::text as "specText"
        from models where id in ${[...modelIds]}`,
    )
  }
}

/** The models of a database, for those who write blocks. */
export function makeModels(db: Database): CellModels {
  return new CellModels(new ModelTextStore(db))
}
