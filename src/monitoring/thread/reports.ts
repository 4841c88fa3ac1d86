import type { AppError } from '../../errors.ts'
import type { ArchivePlace } from '../../score-log/archive/archive-place.ts'
import type { MonitoringService } from '../service.ts'

/** Reports that scan the log. */
export type ReportName = 'stability' | 'series' | 'cutoffs' | 'swapSet' | 'migration' | 'versions'

export type Reports = Pick<MonitoringService, ReportName>

/** Start data of the thread. */
export interface ReportsWorkerData {
  readonly databaseUrl: string
  /** Null: the service has no archive. */
  readonly archive: ArchivePlace | null
}

/** A report that the thread is to make. */
export interface ReportOrder {
  readonly id: number
  readonly name: ReportName
  readonly args: readonly unknown[]
}

/** What an error is made of; an error itself loses its code on the way between threads. */
export type ReportFault =
  | Pick<AppError, 'code' | 'message' | 'details' | 'retryAfterMs'>
  | { readonly code: null; readonly message: string; readonly stack: string | undefined }

export type ReportReply =
  | { readonly id: number; readonly report: unknown }
  | { readonly id: number; readonly fault: ReportFault }

/** Message that ends the thread. */
export const END = 'end'
/** Message that the database did not answer in time. */
export const SILENT = 'silent'
