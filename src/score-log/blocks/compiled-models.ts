import { sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { type CompiledModel, checkStoredSpec, compileModel } from '../../engine/index.ts'
import { type Database, rowsOf } from '../../platform/db/client.ts'
import { parseStoredJson } from '../../platform/json.ts'
import type { ModelSource, ModelsById } from '../record/model-source.ts'

const CACHED_BYTES_MAX = 64 * 1024 * 1024
/** A model that is missing can be registered later, by a restored database. */
const MISSING_TTL_MS = 60_000
const MISSING_BYTES = 100

/** Compiled models from the table of models, which never change. */
export class CompiledModels implements ModelSource {
  private readonly db: Database
  /** By id; `missing` for one that the database does not have. */
  private readonly cache = new LRUCache<string, CompiledModel | 'missing'>({
    maxSize: CACHED_BYTES_MAX,
  })

  constructor(db: Database) {
    this.db = db
  }

  async compiled(modelIds: readonly string[]): Promise<ModelsById> {
    const unknown = modelIds.filter((id) => this.cache.get(id) === undefined)
    const loaded = unknown.length === 0 ? new Map() : await this.load(unknown)
    const models = new Map<string, CompiledModel>()
    for (const id of modelIds) {
      const model = this.cache.get(id) ?? loaded.get(id)
      if (model !== undefined && model !== 'missing') models.set(id, model)
    }
    return models
  }

  private async load(modelIds: readonly string[]): Promise<Map<string, CompiledModel>> {
    const ids = sql.join(
      modelIds.map((id) => sql`${id}`),
      sql`, `,
    )
    const rows = await rowsOf<{ id: string; text: string }>(
      this.db,
      sql`select id, spec::text as text from models where id in (${ids})`,
    )
    const loaded = new Map<string, CompiledModel>()
    for (const { id, text } of rows) {
      const check = checkStoredSpec(parseStoredJson(text))
      if (check.ok) loaded.set(id, compileModel(check.spec))
    }
    for (const id of modelIds) {
      const model = loaded.get(id)
      if (model !== undefined) this.cache.set(id, model, { size: Math.ceil(model.sizeBytes) })
      else this.cache.set(id, 'missing', { size: MISSING_BYTES, ttl: MISSING_TTL_MS })
    }
    return loaded
  }
}
