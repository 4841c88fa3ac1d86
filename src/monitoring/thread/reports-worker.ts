import { parentPort, workerData } from 'node:worker_threads'
import { AppError } from '../../errors.ts'
import { DATABASE_DEADLINE_MS, guardStore } from '../../platform/db/guard.ts'
import { connectPostgres } from '../../platform/db/postgres.ts'
import { openArchiveBytes } from '../../score-log/archive/archive-place.ts'
import { openLogReader } from '../../score-log/reading/open-reader.ts'
import { Monitored } from '../monitored.ts'
import { MonitoringService } from '../service.ts'
import { PostgresMonitoringStore } from '../store.ts'
import {
  END,
  type ReportFault,
  type ReportOrder,
  type ReportReply,
  type Reports,
  type ReportsWorkerData,
  SILENT,
} from './reports.ts'

/** One report is made at a time; a second connection finds its deployment meanwhile. */
const CONNECTIONS_MAX = 2

const { databaseUrl, archive }: ReportsWorkerData = workerData
const connections = connectPostgres(databaseUrl, CONNECTIONS_MAX)
const { db } = connections
const guard = {
  deadlineMs: DATABASE_DEADLINE_MS,
  onOverdue: () => {
    connections.renew()
    parentPort?.postMessage(SILENT)
  },
}
const guarded = <Store extends object>(store: Store) => guardStore(store, guard)
const files = archive === null ? null : await openArchiveBytes(archive)
const { reader, models } = openLogReader({ db, guarded, ...(files && { archive: { files } }) })
const store = guarded(new PostgresMonitoringStore(db))
const reports: Reports = new MonitoringService(new Monitored({ store, log: reader, models }))

parentPort?.on('message', async (message: ReportOrder | typeof END) => {
  if (message === END) {
    await connections.close()
    parentPort?.close()
    return
  }
  parentPort?.postMessage(await replyTo(message))
})

async function replyTo({ id, name, args }: ReportOrder): Promise<ReportReply> {
  try {
    // The other thread gives each report the arguments of its own method.
    const make = reports[name].bind(reports) as (...args: readonly unknown[]) => Promise<unknown>
    return { id, report: await make(...args) }
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
