import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import type { LogReader } from '../score-log/reading/log-reader.ts'
import type { StoredModels } from '../score-log/reading/stored-models.ts'
import { BaselineService } from './baseline-service.ts'
import { Monitored } from './monitored.ts'
import { MonitoringService } from './service.ts'
import { PostgresMonitoringStore } from './store.ts'

interface MonitoringOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly reader: LogReader
  readonly models: StoredModels
  readonly clock: Clock
}

export interface MonitoringServices {
  readonly monitoring: MonitoringService
  readonly baselines: BaselineService
}

/** Wires the reports on stability, cut-offs and challengers, which share one scan at a time. */
export function openMonitoring(options: MonitoringOptions): MonitoringServices {
  const { db, guarded, reader, models, clock } = options
  const store = guarded(new PostgresMonitoringStore(db))
  const monitored = new Monitored({ store, log: reader, models })
  return {
    monitoring: new MonitoringService(monitored),
    baselines: new BaselineService({ monitored, clock }),
  }
}
