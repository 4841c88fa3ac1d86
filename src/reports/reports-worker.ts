import { workerData } from 'node:worker_threads'
import { AppError } from '../errors.ts'
import { systemClock } from '../platform/clock.ts'
import { openThreadDatabase } from '../platform/db/thread-database.ts'
import { goBehindRequests } from '../platform/thread-priority.ts'
import { openArchiveBytes } from '../score-log/archive/archive-place.ts'
import { openLogReader } from '../score-log/reading/open-reader.ts'
import { makeReports } from './make-reports.ts'
import type { ReportFault, ReportOrder, ReportReply, ReportsWorkerData } from './reports.ts'

/** One report is made at a time; a second connection finds its deployment meanwhile. */
const CONNECTIONS_MAX = 2

goBehindRequests()
const { databaseUrl, archive }: ReportsWorkerData = workerData
const { db, guarded, answer } = openThreadDatabase(databaseUrl, CONNECTIONS_MAX)
const files = archive === null ? null : await openArchiveBytes(archive)
const { reader, models } = openLogReader({ db, guarded, ...(files && { archive: { files } }) })
const reports = makeReports({ db, guarded, reader, models, clock: systemClock })

answer(replyTo)

async function replyTo({ id, subject, name, args }: ReportOrder): Promise<ReportReply> {
  try {
    // The other thread asks for the reports that `Reports` has, each with its own arguments.
    const named = reports[subject] as unknown as Record<string, (...args: unknown[]) => unknown>
    return { id, report: await named[name]?.(...args) }
  } catch (error) {
    return { id, fault: faultOf(error) }
  }
}

function faultOf(error: unknown): ReportFault {
  if (error instanceof AppError) {
    const { code, message, details, retryAfterMs } = error
    return { code, message, details, retryAfterMs }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { code: null, message, stack }
}
