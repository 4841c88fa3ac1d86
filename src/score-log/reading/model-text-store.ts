import { inArray, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/client.ts'
import { models } from '../../tables/models.ts'
import { CellModels, type ModelText, type ModelTextStore } from './stored-models.ts'

/** Models in PostgreSQL. */
export class PostgresModelTextStore implements ModelTextStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  modelTexts(modelIds: readonly string[]): Promise<ModelText[]> {
    return this.db
      .select({
        modelId: models.id,
        name: models.name,
        version: models.version,
        // As text, because a driver would parse it with JSON.parse; see `parseStoredJson`.
        specText: sql<string>`${models.spec}::text`,
      })
      .from(models)
      .where(inArray(models.id, [...modelIds]))
  }
}

/** The models of a database, for those who write blocks. */
export function modelsOf(db: Database): CellModels {
  return new CellModels(new PostgresModelTextStore(db))
}
