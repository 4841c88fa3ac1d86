import { ModelCopyService } from '../models/copies/service.ts'
import { PostgresModelCopyStore } from '../models/copies/store.ts'
import { ModelService } from '../models/service.ts'
import { PostgresModelStore } from '../models/store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import { ImportService } from './service.ts'
import { ImportSampleChecker } from './spec-check.ts'
import { ImportThread } from './thread.ts'

interface ModelOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly clock: Clock
  readonly onChange: (deploymentId: string) => void
}

export interface ModelServices {
  readonly models: ModelService
  readonly modelCopies: ModelCopyService
  readonly imports: ImportService
}

/** Wires the models, and the cards of other tools that become models. */
export function openModels({ db, guarded, clock, onChange }: ModelOptions): ModelServices {
  const runner = new ImportThread()
  const samples = new ImportSampleChecker(runner)
  const models = new ModelService({
    store: guarded(new PostgresModelStore(db)),
    samples,
    clock,
    onChange,
  })
  return {
    models,
    modelCopies: new ModelCopyService(guarded(new PostgresModelCopyStore(db)), clock),
    imports: new ImportService({ models, runner }),
  }
}
