import type { MonitoringService } from './service.ts'

/** Reports that scan the log: what makes them can be on another thread. */
export type MonitoringReports = Pick<
  MonitoringService,
  | 'writeStability'
  | 'writeSeries'
  | 'cutoffs'
  | 'swapSet'
  | 'migration'
  | 'versions'
  | 'sample'
  | 'evaluate'
>
