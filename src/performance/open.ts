import type { OutcomeDefinitions } from '../outcomes/definitions.ts'
import type { Database } from '../platform/db/client.ts'
import type { LogReader } from '../score-log/reading/log-reader.ts'
import type { StoredModels } from '../score-log/reading/stored-models.ts'
import { PerformanceService } from './service.ts'
import { PostgresPerformanceStore } from './store.ts'

interface PerformanceOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly reader: LogReader
  readonly models: StoredModels
  readonly definitions: OutcomeDefinitions
}

/** Wires the reports on how good the scores of a deployment were. */
export function openPerformance(options: PerformanceOptions): PerformanceService {
  const { db, guarded, reader, models, definitions } = options
  return new PerformanceService({
    store: guarded(new PostgresPerformanceStore(db)),
    definitions,
    log: reader,
    models,
  })
}
