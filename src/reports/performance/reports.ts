import type { PerformanceService } from './service.ts'

/** Reports that scan outcomes and the log: what makes them can be on another thread. */
export interface PerformanceReports extends Pick<PerformanceService, 'vintages'> {
  /** Writes the report as the API shows it: the bins of a large card are megabytes. */
  write(...args: Parameters<PerformanceService['get']>): Promise<Uint8Array<ArrayBuffer>>
}
