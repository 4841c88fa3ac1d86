import type { AppError } from '../errors.ts'
import type { ArchivePlace, Damage } from '../log/index.ts'
import type { ChangeReports } from './change-requests/change-scans.ts'
import type { MonitoringReports } from './monitoring/reports.ts'
import type { OverviewReports } from './overview/reports.ts'
import type { PerformanceReports } from './performance/make-performance.ts'
import type { ReasonScans } from './reasons/scans.ts'
import type { Comparisons } from './stats/model-comparisons.ts'

/** Reports that scan the log, by what they are about. The first argument of each is the caller. */
export interface Reports {
  readonly monitoring: MonitoringReports
  readonly performance: PerformanceReports
  readonly reasons: ReasonScans
  readonly comparisons: Comparisons
  readonly changes: ChangeReports
  readonly overview: OverviewReports
}

export const REPORTS: { readonly [Subject in keyof Reports]: readonly (keyof Reports[Subject])[] } =
  {
    monitoring: [
      'writeStability',
      'writeSeries',
      'cutoffs',
      'swapSet',
      'migration',
      'versions',
      'sample',
      'evaluate',
    ],
    performance: ['write', 'vintages'],
    reasons: ['population', 'methods', 'counts'],
    comparisons: ['compare'],
    changes: ['compare'],
    overview: ['facts', 'write'],
  }

/** Start data of the thread. */
export interface ReportsWorkerData {
  readonly databaseUrl: string
  /** Null: the service has no archive. */
  readonly archive: ArchivePlace | null
}

export interface ReportOrder {
  readonly subject: keyof Reports
  readonly name: string
  readonly args: readonly unknown[]
}

/** The parts of an error; an error itself loses its code on the way between threads. */
export type ReportFault =
  | (Pick<AppError, 'code' | 'message' | 'details' | 'retryAfterMs' | 'isLasting'> & {
      /** Present for a `DamagedBlock`. */
      readonly damage: Damage | null
    })
  | { readonly code: null; readonly message: string; readonly stack: string | undefined }

export type ReportReply = { readonly report: unknown } | { readonly fault: ReportFault }
