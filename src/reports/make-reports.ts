import { ChangeScans } from '../change-requests/change-scans.ts'
import { Monitored } from '../monitoring/monitored.ts'
import { QueuedScans } from '../monitoring/queued-scans.ts'
import { MonitoringService } from '../monitoring/service.ts'
import { PostgresMonitoringStore } from '../monitoring/store.ts'
import { OutcomeDefinitions } from '../outcomes/definitions.ts'
import { PostgresOutcomeStore } from '../outcomes/store.ts'
import { openPerformance } from '../performance/open.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import { LoggedReasons } from '../reasons/scans.ts'
import { PostgresReasonStore } from '../reasons/store.ts'
import type { LogReader } from '../score-log/reading/log-reader.ts'
import { ScanQueue } from '../score-log/reading/scan-queue.ts'
import type { StoredModels } from '../score-log/reading/stored-models.ts'
import { ModelComparisons } from '../stats/model-comparisons.ts'
import { PostgresStatsStore } from '../stats/store.ts'
import type { Reports } from './reports.ts'

export interface MadeFrom {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly reader: LogReader
  readonly models: StoredModels
  readonly clock: Clock
}

/** Makes all reports on this thread. Their scans share one queue, but for those of changes. */
export function makeReports({ db, guarded, reader, models, clock }: MadeFrom): Reports {
  const queue = new ScanQueue()
  const store = guarded(new PostgresMonitoringStore(db))
  const definitions = new OutcomeDefinitions(guarded(new PostgresOutcomeStore(db)), clock)
  const reasonStore = guarded(new PostgresReasonStore(db))
  return {
    monitoring: new MonitoringService(
      new Monitored({ store, models }),
      new QueuedScans({ log: reader, queue }),
    ),
    performance: openPerformance({ db, guarded, reader, models, queue, definitions }),
    reasons: new LoggedReasons({
      log: reader,
      models,
      baseline: (baselineId) => reasonStore.baseline(baselineId),
      queue,
    }),
    comparisons: new ModelComparisons({
      store: guarded(new PostgresStatsStore(db)),
      log: reader,
      queue,
    }),
    changes: new ChangeScans({ reader, models }),
  }
}
