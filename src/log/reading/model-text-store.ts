import { sql } from 'drizzle-orm'
import { DatabaseStore, queryRows } from '../../platform/db/client.ts'
export interface ModelText {
  readonly modelId: string
  readonly name: string
  readonly version: string
  /** As it is stored. */
  readonly specText: string
}

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
