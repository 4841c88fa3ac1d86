import type { Logger } from 'pino'
import type { Clock } from '../platform/clock.ts'
import type { DatabaseHandle } from '../platform/db/client.ts'
import type { MetricRegistry } from '../platform/metrics/registry.ts'
import type { LogReader } from '../score-log/reading/log-reader.ts'
import type { LogArchive } from '../score-log/reading/open-reader.ts'
import type { StoredModels } from '../score-log/reading/stored-models.ts'
import { AlarmEvaluator } from './alarms/evaluator.ts'
import { addAlarmMetrics } from './alarms/metrics.ts'
import { AlarmService } from './alarms/service.ts'
import { PostgresAlarmStore } from './alarms/store.ts'
import { verdictEvents } from './alarms/verdict-events.ts'
import { BaselineService } from './baseline-service.ts'
import { Monitored } from './monitored.ts'
import { MonitoringService } from './service.ts'
import { PostgresMonitoringStore } from './store.ts'
import type { Reports } from './thread/reports.ts'
import { ReportsThread } from './thread/reports-thread.ts'

interface MonitoringOptions {
  readonly database: DatabaseHandle
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly reader: LogReader
  readonly models: StoredModels
  /** Absent: the service has no archive. */
  readonly archive: Pick<LogArchive, 'place'> | undefined
  readonly clock: Clock
  readonly metrics: MetricRegistry
  readonly log: Logger
  /** The facts of an error that may appear in the service's log. */
  readonly factsOf: (error: unknown) => object
}

export interface MonitoringServices {
  readonly monitoring: Reports
  readonly baselines: BaselineService
  readonly alarms: AlarmService
  readonly evaluator: AlarmEvaluator
}

/**
 * Wires the reports on stability, cut-offs and challengers, which share one scan at a time, and
 * begins to evaluate alarms. `close` ends the thread of the reports.
 */
export function openMonitoring(options: MonitoringOptions): {
  readonly services: MonitoringServices
  close(): Promise<void>
} {
  const { database, guarded, reader, models, clock, metrics, log, factsOf } = options
  const { db, url } = database
  const store = guarded(new PostgresMonitoringStore(db))
  const monitored = new Monitored({ store, log: reader, models })
  // The embedded database belongs to this process' own thread.
  const thread = url === null ? null : reportsThread(url, options)
  const monitoring = thread ?? new MonitoringService(monitored)
  const alarmStore = guarded(new PostgresAlarmStore(db, verdictEvents))
  const evaluator = new AlarmEvaluator({
    store: alarmStore,
    monitoring,
    clock,
    onFailed: (error) =>
      log.warn({ err: factsOf(error) }, 'an alarm could not be evaluated and is tried again'),
  })
  addAlarmMetrics(metrics, evaluator)
  evaluator.start()
  return {
    services: {
      monitoring,
      baselines: new BaselineService({ monitored, clock }),
      alarms: new AlarmService({ store: alarmStore, monitored, clock }),
      evaluator,
    },
    close: async () => thread?.close(),
  }
}

function reportsThread(
  databaseUrl: string,
  { database, archive, log, factsOf }: MonitoringOptions,
): ReportsThread {
  return new ReportsThread({
    databaseUrl,
    archive: archive?.place ?? null,
    onCrash: (error) => log.error({ err: factsOf(error) }, 'the thread of the reports has ended'),
    onSilent: () => database.renew(),
  })
}
