import type { Static } from '@sinclair/typebox'
import type { MonthlyReportQuery } from '../../../schemas/overview.ts'
import type { Caller } from '../../http/access/caller.ts'
import type { OverviewFactsMaker } from './facts.ts'
import type { MonthlyReports } from './monthly-report.ts'

/** Reports that judge the log: what makes them can be on another thread. */
export type OverviewReports = Pick<OverviewFactsMaker, 'facts'> & Pick<MonthlyReports, 'write'>

/** Writes the report of a month, see `MonthlyReports`. */
export type WriteMonth = (
  caller: Caller,
  slug: string,
  month: string,
  query: Static<typeof MonthlyReportQuery>,
) => Promise<Uint8Array<ArrayBuffer>>
