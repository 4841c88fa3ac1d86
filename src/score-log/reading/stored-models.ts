import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import {
  type CellModel,
  type CompiledModel,
  cellModelBytes,
  cellModelOf,
  checkStoredSpec,
  compileModel,
  type ScorecardSpec,
} from '../../engine/index.ts'
import { parseStoredJson } from '../../platform/json.ts'
import type { ModelSource, ModelsById } from '../record/model-source.ts'

/** A row of the table of models. */
export interface ModelText {
  readonly modelId: string
  readonly name: string
  readonly version: string
  /** As it is stored. */
  readonly specText: string
}

/** Reads the table of models. */
export interface ModelTextStore {
  /** Models with these ids; unknown ids are left out. */
  modelTexts(modelIds: readonly string[]): Promise<readonly ModelText[]>
}

/** A model as readers of the log need it. */
export interface StoredModel {
  readonly modelId: string
  readonly name: string
  readonly version: string
  /** Hex, over the stored text of the spec. */
  readonly specSha256: string
  /** Null if this version of the engine does not accept the stored spec. */
  readonly card: StoredCard | null
}

export interface StoredCard {
  readonly spec: ScorecardSpec
  readonly model: CompiledModel
}

const CACHED_BYTES_MAX = 64 * 1024 * 1024
/** Measured: the spec as an object, beside the tables of the model. */
const BYTES_PER_SPEC_CHAR = 6
/** Texts of models that are in memory together: a spec may have megabytes. */
const READ_AT_ONCE = 64

/**
 * Models of logged scores. A registered model never changes, so that a cached one is never stale;
 * the models that were used least recently leave the cache.
 */
export class StoredModels implements ModelSource {
  private readonly store: ModelTextStore
  private readonly cache = new LRUCache<string, StoredModel>({ maxSize: CACHED_BYTES_MAX })

  constructor(store: ModelTextStore) {
    this.store = store
  }

  /** The models with these ids; unknown ids are left out. */
  async get(modelIds: Iterable<string>): Promise<ReadonlyMap<string, StoredModel>> {
    const found = new Map<string, StoredModel>()
    const missing: string[] = []
    for (const modelId of new Set(modelIds)) {
      const model = this.cache.get(modelId)
      if (model === undefined) missing.push(modelId)
      else found.set(modelId, model)
    }
    if (missing.length === 0) return found
    for (const text of await this.store.modelTexts(missing)) {
      const model = storedModel(text)
      const size = 1_000 + BYTES_PER_SPEC_CHAR * text.specText.length
      this.cache.set(text.modelId, model, {
        size: size + 3 * (model.card?.model.sizeBytes ?? 0),
      })
      found.set(text.modelId, model)
    }
    return found
  }

  async compiled(modelIds: readonly string[]): Promise<ModelsById> {
    const models = new Map<string, CompiledModel>()
    for (const [modelId, { card }] of await this.get(modelIds)) {
      if (card !== null) models.set(modelId, card.model)
    }
    return models
  }
}

/**
 * Models for those who write blocks. They keep of each model what turns cells into results, which
 * takes a hundredth of its memory: the drain of a thousand deployments needs all their models in
 * turn.
 */
export class CellModels implements ModelSource {
  private readonly store: ModelTextStore
  private readonly cache = new LRUCache<string, CellModel>({ maxSize: CACHED_BYTES_MAX })

  constructor(store: ModelTextStore) {
    this.store = store
  }

  async compiled(modelIds: readonly string[]): Promise<ModelsById> {
    const found = new Map<string, CellModel>()
    const missing: string[] = []
    for (const modelId of new Set(modelIds)) {
      const model = this.cache.get(modelId)
      if (model === undefined) missing.push(modelId)
      else found.set(modelId, model)
    }
    for (let at = 0; at < missing.length; at += READ_AT_ONCE) {
      const texts = await this.store.modelTexts(missing.slice(at, at + READ_AT_ONCE))
      for (const { modelId, specText } of texts) {
        const card = storedCard(specText)
        if (card === null) continue
        const model = cellModelOf(card.model)
        this.cache.set(modelId, model, { size: cellModelBytes(model) })
        found.set(modelId, model)
      }
    }
    return found
  }
}

/** @returns null for a text that this version of the engine does not accept */
function storedCard(specText: string): StoredCard | null {
  const check = checkStoredSpec(parseStoredJson(specText))
  return check.ok ? { spec: check.spec, model: compileModel(check.spec) } : null
}

function storedModel({ modelId, name, version, specText }: ModelText): StoredModel {
  return {
    modelId,
    name,
    version,
    specSha256: createHash('sha256').update(specText).digest('hex'),
    card: storedCard(specText),
  }
}
