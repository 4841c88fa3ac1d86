import { Performance } from '../../../schemas/performance.ts'
import { writeBody } from '../../http/serializers.ts'
import type { LogReader, ScanQueue, StoredModels } from '../../log/index.ts'
import type { OutcomeDefinitions } from '../../outcomes/definitions.ts'
import type { Deps } from '../../platform/deps.ts'
import { type PerformanceFields, performanceFields } from './response.ts'
import { PerformanceService } from './service.ts'
import { PerformanceStore } from './store.ts'

interface PerformanceOptions extends Pick<Deps, 'db' | 'guarded'> {
  readonly reader: LogReader
  readonly models: StoredModels
  readonly queue: ScanQueue
  readonly definitions: Pick<OutcomeDefinitions, 'get'>
}

export interface MadePerformance extends PerformanceReports {
  /** The report as the API shows it. */
  get(...args: Parameters<PerformanceService['get']>): Promise<PerformanceFields>
}

/** Makes the reports on how good the scores of a deployment were. */
export function makePerformance(options: PerformanceOptions): MadePerformance {
  const { db, guarded, reader, models, queue, definitions } = options
  const service = new PerformanceService({
    store: guarded(new PerformanceStore(db)),
    definitions,
    log: reader,
    models,
    queue,
  })
  const get: MadePerformance['get'] = async (caller, slug, query) =>
    performanceFields(query.definition, await service.get(caller, slug, query))
  return {
    get,
    write: async (...args) => writeBody(Performance, await get(...args)),
    vintages: (caller, slug, query) => service.vintages(caller, slug, query),
  }
}

/** Reports that scan outcomes and the log: what makes them can be on another thread. */
export interface PerformanceReports extends Pick<PerformanceService, 'vintages'> {
  /** Writes the report as the API shows it: the bins of a large card are megabytes. */
  write(...args: Parameters<PerformanceService['get']>): Promise<Uint8Array<ArrayBuffer>>
}
