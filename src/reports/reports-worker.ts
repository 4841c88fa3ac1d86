import { workerData } from 'node:worker_threads'
import { AppError } from '../errors.ts'
import { DamagedBlock, openArchiveBytes, openLogReader } from '../log/database.ts'
import { systemClock } from '../platform/clock.ts'
import { openThreadDatabase } from '../platform/db/thread-database.ts'
import { goBehindRequests } from '../platform/threads.ts'
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

answer(replyTo, (reply) => {
  const isWritten = 'report' in reply && reply.report instanceof Uint8Array
  // `writeBody` makes memory of its own for each.
  return isWritten ? [reply.report.buffer as ArrayBuffer] : []
})

async function replyTo({ subject, name, args }: ReportOrder): Promise<ReportReply> {
  try {
    // The other thread asks for the reports that `Reports` has, each with its own arguments.
    const named = reports[subject] as unknown as Record<string, (...args: unknown[]) => unknown>
    return { report: await named[name]?.(...args) }
  } catch (error) {
    return { fault: findFault(error) }
  }
}

function findFault(error: unknown): ReportFault {
  if (error instanceof AppError) {
    const { code, message, details, retryAfterMs, isLasting } = error
    const damage = error instanceof DamagedBlock ? error.damage : null
    return { code, message, details, retryAfterMs, isLasting, damage }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { code: null, message, stack }
}
