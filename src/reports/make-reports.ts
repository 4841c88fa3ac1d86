import { type LogReader, ScanQueue, type StoredModels } from '../log/index.ts'
import { OutcomeDefinitions } from '../outcomes/definitions.ts'
import { OutcomeStore } from '../outcomes/store.ts'
import type { Deps } from '../platform/deps.ts'
import { ChangeScans } from './change-requests/change-scans.ts'
import { Monitored } from './monitoring/monitored.ts'
import { QueuedScans } from './monitoring/queued-scans.ts'
import { MonitoringService } from './monitoring/service.ts'
import { MonitoringStore } from './monitoring/store.ts'
import { OverviewFactsMaker } from './overview/facts.ts'
import { MonthlyReports } from './overview/monthly-report.ts'
import { ReportStore } from './overview/report-store.ts'
import { OverviewStore } from './overview/store.ts'
import { makePerformance } from './performance/make-performance.ts'
import { LoggedReasons } from './reasons/scans.ts'
import { ReasonStore } from './reasons/store.ts'
import type { Reports } from './reports.ts'
import { ModelComparisons } from './stats/model-comparisons.ts'
import { StatsStore } from './stats/store.ts'

interface MadeFrom extends Pick<Deps, 'db' | 'guarded' | 'clock'> {
  readonly reader: LogReader
  readonly models: StoredModels
}

/** Makes all reports on this thread. Their scans share one queue, but for those of changes. */
export function makeReports({ db, guarded, reader, models, clock }: MadeFrom): Reports {
  const queue = new ScanQueue()
  const store = guarded(new MonitoringStore(db))
  const definitions = new OutcomeDefinitions(guarded(new OutcomeStore(db)), clock)
  const reasonStore = guarded(new ReasonStore(db))
  const monitored = new Monitored({ store, models })
  const monitoring = new MonitoringService(monitored, new QueuedScans({ log: reader, queue }))
  const performance = makePerformance({ db, guarded, reader, models, queue, definitions })
  const overviewStore = guarded(new OverviewStore(db))
  const factsMaker = new OverviewFactsMaker({ store: overviewStore, monitoring, performance })
  const reportStore = guarded(new ReportStore(db))
  const months = { store: reportStore, monitored, monitoring, performance }
  const monthlyReports = new MonthlyReports(months)
  return {
    monitoring,
    performance,
    overview: {
      facts: (...args) => factsMaker.facts(...args),
      write: (...args) => monthlyReports.write(...args),
    },
    reasons: new LoggedReasons({
      log: reader,
      models,
      baseline: (baselineId) => reasonStore.baseline(baselineId),
      queue,
    }),
    comparisons: new ModelComparisons({
      store: guarded(new StatsStore(db)),
      log: reader,
      queue,
    }),
    changes: new ChangeScans({ reader, models }),
  }
}
