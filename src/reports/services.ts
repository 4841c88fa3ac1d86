import type { ChangeReports } from '../change-requests/change-scans.ts'
import type { DeploymentService } from '../deployments/service.ts'
import { type MonitoringServices, openMonitoring } from '../monitoring/open.ts'
import type { PerformanceReports } from '../performance/reports.ts'
import type { MetricRegistry } from '../platform/metrics/registry.ts'
import type { ScoreReadingService } from '../reading/service.ts'
import { openReasons, type ReasonServices } from '../reasons/open.ts'
import type { LogArchive, OpenLogReader } from '../score-log/reading/open-reader.ts'
import { openStats } from '../stats/open.ts'
import type { StatsService } from '../stats/service.ts'
import { openReports, type ReportsOptions } from './open.ts'

interface ReportServicesOptions extends ReportsOptions {
  readonly archive: Pick<LogArchive, 'place'> | undefined
  readonly logReader: Pick<OpenLogReader, 'blocks' | 'models'>
  readonly deployments: DeploymentService
  readonly scoreReading: ScoreReadingService
  readonly metrics: MetricRegistry
}

/** What people ask the log as a whole. */
export interface ReportServices extends MonitoringServices, ReasonServices {
  readonly performance: PerformanceReports
  readonly stats: StatsService
}

/** Wires the domains whose reports scan the log. `close` ends the thread that makes them. */
export function openReportServices(options: ReportServicesOptions): {
  readonly services: ReportServices
  /** What change requests ask. */
  readonly changes: ChangeReports
  close(): Promise<void>
} {
  const opened = openReports(options)
  const { monitoring, performance, reasons, comparisons, changes } = opened.reports
  return {
    services: {
      ...openMonitoring({ ...options, reports: monitoring }),
      ...openReasons({ ...options, scans: reasons }),
      performance,
      stats: openStats({ ...options, comparisons }),
    },
    changes,
    close: () => opened.close(),
  }
}
