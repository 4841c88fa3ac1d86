import { AppError } from '../errors.ts'
import type { Caller } from '../http/access/caller.ts'
import { DamagedBlock } from '../log/database.ts'
import { WorkerThread } from '../platform/worker-thread.ts'
import {
  REPORTS,
  type ReportFault,
  type ReportOrder,
  type ReportReply,
  type Reports,
  type ReportsWorkerData,
} from './reports.ts'

interface ReportsThreadOptions extends ReportsWorkerData {
  /** Old generation of the thread's heap; the references of a scan are kept outside of it. */
  readonly memoryMb: number
  /** Called if the thread ends by itself or can't be started; the next report starts another. */
  readonly onCrash: (error: unknown) => void
  /** Called if the database did not answer the thread: other connections can be dead too. */
  readonly onSilent: () => void
  /** Receives the block that a report could not be made for. */
  readonly onDamaged: (error: DamagedBlock) => void
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
  private readonly onDamaged: (error: DamagedBlock) => void

  constructor(options: ReportsThreadOptions) {
    const { databaseUrl, archive, memoryMb, onCrash, onSilent, onDamaged } = options
    const workerData: ReportsWorkerData = { databaseUrl, archive }
    this.onDamaged = onDamaged
    this.thread = new WorkerThread({
      file: WORKER,
      name: 'reports',
      workerData,
      memoryMb: { old: memoryMb, young: YOUNG_MEMORY_MB },
      restartPauseMs: 0,
      idleMs: IDLE_MS,
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

  private async order(order: ReportOrder): Promise<unknown> {
    const reply = await this.thread.call(order)
    if (reply === null) throw interrupted()
    if ('report' in reply) return reply.report
    const error = makeError(reply.fault)
    if (error instanceof DamagedBlock) this.onDamaged(error)
    throw error
  }
}

/** A caller without its function, which no other thread can take; reports never ask it. */
function sent(caller: Caller): Caller {
  return caller.kind === 'key' ? { ...caller, admitsAddress: null } : caller
}

function interrupted(): AppError {
  return new AppError('unavailable', 'the report was interrupted: ask for it again')
}

function makeError(fault: ReportFault): Error {
  if (fault.code === null) {
    const error = new Error(fault.message)
    if (fault.stack !== undefined) error.stack = fault.stack
    return error
  }
  const { code, message, details, retryAfterMs, isLasting, damage } = fault
  if (damage !== null) return new DamagedBlock(damage)
  return new AppError(code, message, {
    isLasting,
    ...(details !== undefined && { details }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/** A report: its subject, its name, and the arguments of its method. */
interface AskedReport {
  readonly subject: keyof Reports
  readonly name: string
  readonly args: readonly [Caller, ...unknown[]]
}

type Report = (...args: readonly [Caller, ...unknown[]]) => Promise<unknown>

/**
 * Reports of which callers who ask the same at once get the same one: ten consoles that show a page
 * cost what one does.
 *
 * @param make makes a report with the arguments, and so with the answer, of its own method
 */
export function sharedReports(make: (asked: AskedReport) => Promise<unknown>): Reports {
  /** Reports under way by what was asked. */
  const shared = new Map<string, Promise<unknown>>()
  const ask = (asked: AskedReport): Promise<unknown> => {
    const [caller, ...rest] = asked.args
    const key = JSON.stringify([asked.subject, asked.name, visibleTo(caller), rest])
    const known = shared.get(key)
    if (known !== undefined) return known
    const made = make(asked)
    shared.set(key, made)
    const forget = () => shared.delete(key)
    made.then(forget, forget)
    return made
  }
  const named = <Subject extends keyof Reports>(subject: Subject): Reports[Subject] => {
    const reports: Record<string, Report> = {}
    for (const name of REPORTS[subject]) {
      reports[String(name)] = (...args) => ask({ subject, name: String(name), args })
    }
    return reports as unknown as Reports[Subject]
  }
  return {
    monitoring: named('monitoring'),
    performance: named('performance'),
    reasons: named('reasons'),
    comparisons: named('comparisons'),
    changes: named('changes'),
    overview: named('overview'),
  }
}

/** The same reports, shared. */
export function sharing(reports: Reports): Reports {
  return sharedReports(({ subject, name, args }) => {
    const ofSubject = reports[subject] as unknown as Record<string, Report>
    const report = ofSubject[name]
    if (report === undefined) throw new TypeError(`there is no report ${subject}.${name}`)
    return report.apply(ofSubject, [...args])
  })
}

/** All of a caller that a report depends on. */
function visibleTo(caller: Caller): readonly unknown[] {
  return [caller.teamId, caller.kind, caller.kind === 'key' ? caller.environment : null]
}
