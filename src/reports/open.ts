import type { Logger } from 'pino'
import type { DatabaseHandle } from '../platform/db/client.ts'
import type { LogArchive } from '../score-log/reading/open-reader.ts'
import { type MadeFrom, makeReports } from './make-reports.ts'
import type { Reports } from './reports.ts'
import { ReportsThread } from './reports-thread.ts'
import { sharing } from './shared-reports.ts'

export interface ReportsOptions extends MadeFrom {
  readonly database: DatabaseHandle
  /** Absent: the service has no archive. */
  readonly archive: Pick<LogArchive, 'place'> | undefined
  readonly log: Logger
  /** The facts of an error that may appear in the service's log. */
  readonly factsOf: (error: unknown) => object
}

/** A million applicants with their outcomes take about 600 MiB, the most of all reports. */
const MEMORY_MB = 1_280

/**
 * Opens the reports that scan the log: on a thread of their own, or on this one with the embedded
 * database, which belongs to this process' own thread.
 */
export function openReports(options: ReportsOptions): {
  readonly reports: Reports
  close(): Promise<void>
} {
  const { database, archive, log, factsOf } = options
  if (database.url === null) {
    return { reports: sharing(makeReports(options)), close: async () => undefined }
  }
  return new ReportsThread({
    databaseUrl: database.url,
    archive: archive?.place ?? null,
    memoryMb: MEMORY_MB,
    onCrash: (error) => log.error({ err: factsOf(error) }, 'the thread of the reports has ended'),
    onSilent: () => database.renew(),
  })
}
