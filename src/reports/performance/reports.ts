import type { performanceFields } from './response.ts'
import type { PerformanceService } from './service.ts'

/** Reports that scan outcomes and the log: what makes them can be on another thread. */
export interface PerformanceReports extends Pick<PerformanceService, 'vintages'> {
  /** The report as the API shows it. */
  get(...args: Parameters<PerformanceService['get']>): Promise<ReturnType<typeof performanceFields>>
}
