import { inArray, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/client.ts'
import { models } from '../../tables/models.ts'
import {
  type ModelCache,
  type ModelText,
  type ModelTextStore,
  StoredModels,
} from './stored-models.ts'

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

/** The models of a database, with a cache of their own or one that others have, too. */
export function modelsOf(db: Database, cache?: ModelCache): StoredModels {
  return new StoredModels(new PostgresModelTextStore(db), cache)
}
