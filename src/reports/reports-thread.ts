import type { Caller } from '../access/caller.ts'
import { AppError } from '../errors.ts'
import { WorkerThread } from '../platform/worker-thread.ts'
import type {
  ReportFault,
  ReportOrder,
  ReportReply,
  Reports,
  ReportsWorkerData,
} from './reports.ts'
import { sharedReports } from './shared-reports.ts'

interface ReportsThreadOptions extends ReportsWorkerData {
  /** Old generation of the thread's heap; the references of a scan are kept outside of it. */
  readonly memoryMb: number
  /** Called if the thread ends by itself or can't be started; the next report starts another. */
  readonly onCrash: (error: unknown) => void
  /** Called if the database did not answer the thread: other connections can be dead too. */
  readonly onSilent: () => void
}

interface Waiting {
  readonly resolve: (report: unknown) => void
  readonly reject: (error: unknown) => void
}

const WORKER = new URL('./reports-worker.ts', import.meta.url)
const YOUNG_MEMORY_MB = 32
/** The memory of large reports is free again after that; to start a thread takes 0.3 s. */
const IDLE_MS = 600_000

/**
 * Makes reports on a thread of their own: a report over ten million scores keeps a core busy for
 * seconds, and scores must not wait for that.
 *
 * The thread starts with the first report, and ends after ten minutes without one. If the thread
 * dies, its reports fail with `unavailable`, and the next one starts another thread.
 */
export class ReportsThread {
  readonly reports: Reports
  private readonly thread: WorkerThread<ReportOrder, ReportReply>
  private nextId = 1
  private readonly waiting = new Map<number, Waiting>()

  constructor({ databaseUrl, archive, memoryMb, onCrash, onSilent }: ReportsThreadOptions) {
    const workerData: ReportsWorkerData = { databaseUrl, archive }
    this.thread = new WorkerThread({
      file: WORKER,
      name: 'reports',
      workerData,
      memoryMb: { old: memoryMb, young: YOUNG_MEMORY_MB },
      restartPauseMs: 0,
      idleMs: IDLE_MS,
      onReply: (reply) => this.settle(reply),
      onEnded: () => this.interrupt(),
      onCrash,
      onSilent,
    })
    this.reports = sharedReports(({ subject, name, args: [caller, ...rest] }) =>
      this.order({ subject, name, args: [sent(caller), ...rest] }),
    )
  }

  close(): Promise<void> {
    return this.thread.close()
  }

  private order(order: Omit<ReportOrder, 'id'>): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const id = this.nextId++
    this.waiting.set(id, { resolve, reject })
    if (!this.thread.post({ id, ...order })) {
      this.waiting.delete(id)
      reject(interrupted())
    }
    return promise
  }

  private interrupt(): void {
    const interruptedOnes = [...this.waiting.values()]
    this.waiting.clear()
    for (const { reject } of interruptedOnes) reject(interrupted())
  }

  private settle(reply: ReportReply): void {
    const waiting = this.waiting.get(reply.id)
    this.waiting.delete(reply.id)
    if ('report' in reply) waiting?.resolve(reply.report)
    else waiting?.reject(errorOf(reply.fault))
  }
}

/** A caller without its function, which no other thread can take; reports never ask it. */
function sent(caller: Caller): Caller {
  return caller.kind === 'key' ? { ...caller, admitsAddress: null } : caller
}

function interrupted(): AppError {
  return new AppError('unavailable', 'the report was interrupted: ask for it again')
}

function errorOf(fault: ReportFault): Error {
  if (fault.code === null) {
    const error = new Error(fault.message)
    if (fault.stack !== undefined) error.stack = fault.stack
    return error
  }
  const { code, message, details, retryAfterMs } = fault
  return new AppError(code, message, {
    ...(details !== undefined && { details }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}
