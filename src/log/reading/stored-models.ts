import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import {
  type CellModel,
  type CompiledModel,
  checkStoredSteps,
  compileSteps,
  estimateCellModelBytes,
  type ScorecardSpec,
  type Steps,
  toCellModel,
} from '../../engine/index.ts'
import type { Database } from '../../platform/db/client.ts'
import { storedJsonSteps } from '../../platform/json.ts'
import { runInTurns } from '../../platform/turn-taker.ts'
import type { ModelSource, ModelsById } from '../record/model-source.ts'
import { type ModelText, ModelTextStore } from './model-text-store.ts'

/** The models of a database, for those who write blocks. */
export function makeModels(db: Database): CellModels {
  return new CellModels(new ModelTextStore(db))
}

/** Facts that readers of the log need of a model beside its card. */
interface ModelFacts {
  readonly name: string
  readonly version: string
  /** Hex, over the stored text of the spec. */
  readonly specSha256: string
}

/** A model as readers of the log need it that explain scores or compute them again. */
export interface StoredModel extends ModelFacts {
  readonly modelId: string
  /** Null if this version of the engine does not accept the stored spec. */
  readonly card: StoredCard | null
}

/** A model as readers of the log need it that restore what was logged. */
export interface LoggedCard extends ModelFacts {
  /** Null if this version of the engine does not accept the stored spec. */
  readonly cells: CellModel | null
}

export interface StoredCard {
  readonly spec: ScorecardSpec
  readonly model: CompiledModel
}

const CACHED_BYTES_MAX = 64 * 1024 * 1024
/** Measured: the spec as an object, beside the tables of the model. */
const BYTES_PER_SPEC_CHAR = 6
/** Texts of models that are in memory together: a spec may have megabytes. */
const READ_AT_ONCE = 8

/** Keeps what was read of models. A registered model never changes: nothing kept is ever stale. */
class ModelCache<Model extends object> {
  private readonly store: Pick<ModelTextStore, 'modelTexts'>
  private readonly make: (text: ModelText) => Promise<{ model: Model; bytes: number }>
  private readonly cache = new LRUCache<string, Model>({ maxSize: CACHED_BYTES_MAX })
  /** One at a time: what many ask for at once is compiled once. */
  private readonly turn = pLimit(1)

  constructor(store: Pick<ModelTextStore, 'modelTexts'>, make: ModelCache<Model>['make']) {
    this.store = store
    this.make = make
  }

  /** The models with these ids; unknown ids are left out. */
  async get(modelIds: Iterable<string>): Promise<ReadonlyMap<string, Model>> {
    const found = new Map<string, Model>()
    const missing = this.take(new Set(modelIds), found)
    if (missing.length > 0) await this.turn(() => this.load(missing, found))
    return found
  }

  /** Adds those that are kept to `found`. @returns the ids of the others */
  private take(modelIds: Iterable<string>, found: Map<string, Model>): string[] {
    return [...modelIds].filter((modelId) => {
      const model = this.cache.get(modelId)
      if (model !== undefined) found.set(modelId, model)
      return model === undefined
    })
  }

  private async load(modelIds: readonly string[], found: Map<string, Model>): Promise<void> {
    const missing = this.take(modelIds, found)
    for (let at = 0; at < missing.length; at += READ_AT_ONCE) {
      for (const text of await this.store.modelTexts(missing.slice(at, at + READ_AT_ONCE))) {
        const { model, bytes } = await this.make(text)
        this.cache.set(text.modelId, model, { size: bytes })
        found.set(text.modelId, model)
      }
    }
  }
}

/** Models of logged scores; those that were used least recently leave the memory. */
export class StoredModels {
  private readonly models: ModelCache<StoredModel>

  constructor(store: Pick<ModelTextStore, 'modelTexts'>) {
    this.models = new ModelCache(store, async (text) => {
      const card = await compileCard(text.specText)
      const specBytes = BYTES_PER_SPEC_CHAR * text.specText.length
      const bytes = 1_000 + specBytes + 3 * (card?.model.sizeBytes ?? 0)
      return { model: { modelId: text.modelId, ...readFacts(text), card }, bytes }
    })
  }

  /** The models with these ids; unknown ids are left out. */
  get(modelIds: Iterable<string>): Promise<ReadonlyMap<string, StoredModel>> {
    return this.models.get(modelIds)
  }
}

/**
 * Models for those who read or write blocks. They keep of each model what turns cells into results,
 * which takes a hundredth of its memory: the drain of a thousand deployments needs all their models
 * in turn, and so does who exports their log.
 */
export class CellModels implements ModelSource {
  private readonly models: ModelCache<LoggedCard>

  constructor(store: Pick<ModelTextStore, 'modelTexts'>) {
    this.models = new ModelCache(store, async (text) => {
      const card = await compileCard(text.specText)
      const cells = card === null ? null : toCellModel(card.model)
      const bytes = 1_000 + (cells === null ? 0 : estimateCellModelBytes(cells))
      return { model: { ...readFacts(text), cells }, bytes }
    })
  }

  /** The models with these ids; unknown ids are left out. */
  get(modelIds: Iterable<string>): Promise<ReadonlyMap<string, LoggedCard>> {
    return this.models.get(modelIds)
  }

  async compiled(modelIds: readonly string[]): Promise<ModelsById> {
    const models = new Map<string, CellModel>()
    for (const [modelId, { cells }] of await this.get(modelIds)) {
      if (cells !== null) models.set(modelId, cells)
    }
    return models
  }
}

/**
 * In turns: the log of an hour may name many cards of the largest size.
 *
 * @returns null for a text that this version of the engine does not accept
 */
function compileCard(specText: string): Promise<StoredCard | null> {
  return runInTurns(cardSteps(specText))
}

function* cardSteps(specText: string): Steps<StoredCard | null> {
  const check = yield* checkStoredSteps(yield* storedJsonSteps(specText))
  return check.ok ? { spec: check.spec, model: yield* compileSteps(check.spec) } : null
}

function readFacts({ name, version, specText }: ModelText): ModelFacts {
  return { name, version, specSha256: createHash('sha256').update(specText).digest('hex') }
}
