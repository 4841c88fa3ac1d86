import type { Logger } from 'pino'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import type { MetricRegistry } from '../platform/metrics/registry.ts'
import type { StoredModels } from '../score-log/reading/stored-models.ts'
import { AlarmEvaluator } from './alarms/evaluator.ts'
import { addAlarmMetrics } from './alarms/metrics.ts'
import { AlarmService } from './alarms/service.ts'
import { PostgresAlarmStore } from './alarms/store.ts'
import { verdictEvents } from './alarms/verdict-events.ts'
import { BaselineService } from './baseline-service.ts'
import { Monitored } from './monitored.ts'
import type { MonitoringReports } from './reports.ts'
import { PostgresMonitoringStore } from './store.ts'

interface MonitoringOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly models: StoredModels
  readonly reports: MonitoringReports
  readonly clock: Clock
  readonly metrics: MetricRegistry
  readonly log: Logger
  /** The facts of an error that may appear in the service's log. */
  readonly factsOf: (error: unknown) => object
}

export interface MonitoringServices {
  readonly monitoring: MonitoringReports
  readonly baselines: BaselineService
  readonly alarms: AlarmService
  readonly evaluator: AlarmEvaluator
}

/** Wires what stands around the reports on stability, and begins to evaluate alarms. */
export function openMonitoring(options: MonitoringOptions): MonitoringServices {
  const { db, guarded, models, reports, clock, metrics, log, factsOf } = options
  const store = guarded(new PostgresMonitoringStore(db))
  const monitored = new Monitored({ store, models })
  const alarmStore = guarded(new PostgresAlarmStore(db, verdictEvents))
  const evaluator = new AlarmEvaluator({
    store: alarmStore,
    monitoring: reports,
    clock,
    onFailed: (error) =>
      log.warn({ err: factsOf(error) }, 'an alarm could not be evaluated and is tried again'),
  })
  addAlarmMetrics(metrics, evaluator)
  evaluator.start()
  return {
    monitoring: reports,
    baselines: new BaselineService({ monitored, reports, clock }),
    alarms: new AlarmService({ store: alarmStore, monitored, clock }),
    evaluator,
  }
}
