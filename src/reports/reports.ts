import type { ChangeReports } from '../change-requests/change-scans.ts'
import type { AppError } from '../errors.ts'
import type { MonitoringReports } from '../monitoring/reports.ts'
import type { PerformanceReports } from '../performance/reports.ts'
import type { ReasonScans } from '../reasons/scans.ts'
import type { ArchivePlace } from '../score-log/archive/archive-place.ts'
import type { Comparisons } from '../stats/model-comparisons.ts'

/** Reports that scan the log, by what they are about. The first argument of each is the caller. */
export interface Reports {
  readonly monitoring: MonitoringReports
  readonly performance: PerformanceReports
  readonly reasons: ReasonScans
  readonly comparisons: Comparisons
  readonly changes: ChangeReports
}

/** The names of all reports. */
export const REPORTS: { readonly [Subject in keyof Reports]: readonly (keyof Reports[Subject])[] } =
  {
    monitoring: ['stability', 'series', 'cutoffs', 'swapSet', 'migration', 'versions', 'sample'],
    performance: ['get', 'vintages'],
    reasons: ['population', 'methods', 'counts'],
    comparisons: ['compare'],
    changes: ['compare'],
  }

/** Start data of the thread. */
export interface ReportsWorkerData {
  readonly databaseUrl: string
  /** Null: the service has no archive. */
  readonly archive: ArchivePlace | null
}

/** A report that the thread is to make. */
export interface ReportOrder {
  readonly id: number
  readonly subject: keyof Reports
  readonly name: string
  readonly args: readonly unknown[]
}

/** What an error is made of; an error itself loses its code on the way between threads. */
export type ReportFault =
  | Pick<AppError, 'code' | 'message' | 'details' | 'retryAfterMs'>
  | { readonly code: null; readonly message: string; readonly stack: string | undefined }

export type ReportReply =
  | { readonly id: number; readonly report: unknown }
  | { readonly id: number; readonly fault: ReportFault }
