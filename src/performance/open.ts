import type { OutcomeDefinitions } from '../outcomes/definitions.ts'
import type { Database } from '../platform/db/client.ts'
import type { LogReader } from '../score-log/reading/log-reader.ts'
import type { ScanQueue } from '../score-log/reading/scan-queue.ts'
import type { StoredModels } from '../score-log/reading/stored-models.ts'
import type { PerformanceReports } from './reports.ts'
import { performanceFields } from './response.ts'
import { PerformanceService } from './service.ts'
import { PostgresPerformanceStore } from './store.ts'

interface PerformanceOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly reader: LogReader
  readonly models: StoredModels
  readonly queue: ScanQueue
  readonly definitions: Pick<OutcomeDefinitions, 'get'>
}

/** Wires the reports on how good the scores of a deployment were. */
export function openPerformance(options: PerformanceOptions): PerformanceReports {
  const { db, guarded, reader, models, queue, definitions } = options
  const service = new PerformanceService({
    store: guarded(new PostgresPerformanceStore(db)),
    definitions,
    log: reader,
    models,
    queue,
  })
  return {
    get: async (caller, slug, query) =>
      performanceFields(query.definition, await service.get(caller, slug, query)),
    vintages: (caller, slug, query) => service.vintages(caller, slug, query),
  }
}
