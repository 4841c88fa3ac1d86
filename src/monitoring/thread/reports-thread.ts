import { Worker } from 'node:worker_threads'
import type { Caller } from '../../access/caller.ts'
import { AppError } from '../../errors.ts'
import {
  END,
  type ReportFault,
  type ReportName,
  type ReportOrder,
  type ReportReply,
  type Reports,
  type ReportsWorkerData,
  SILENT,
} from './reports.ts'

interface ReportsThreadOptions extends ReportsWorkerData {
  /** Called if the thread ends by itself or can't be started; the next report starts another. */
  readonly onCrash: (error: unknown) => void
  /** Called if the database did not answer the thread: other connections can be dead too. */
  readonly onSilent: () => void
}

type Arguments<Name extends ReportName> = Parameters<Reports[Name]>
type Report<Name extends ReportName> = Awaited<ReturnType<Reports[Name]>>

interface Waiting {
  readonly resolve: (report: unknown) => void
  readonly reject: (error: unknown) => void
}

const WORKER = new URL('./reports-worker.ts', import.meta.url)
const CLOSE_TIMEOUT_MS = 1_000
/** The references of a scan are kept outside the heap. */
const MEMORY_MB = { maxOldGenerationSizeMb: 1_024, maxYoungGenerationSizeMb: 32 }

/**
 * Makes the reports of monitoring on a thread of their own: a report over ten million scores keeps
 * a core busy for ten seconds and more, and scores must not wait for that.
 *
 * The thread starts with the first report. Callers who ask the same at once get the same report. If
 * the thread dies, its reports fail with `unavailable`, and the next one starts another thread.
 */
export class ReportsThread implements Reports {
  private readonly options: ReportsThreadOptions
  private worker: Worker | null = null
  private isClosed = false
  private nextId = 1
  private readonly waiting = new Map<number, Waiting>()
  /** Reports under way by what was asked. */
  private readonly shared = new Map<string, Promise<unknown>>()

  constructor(options: ReportsThreadOptions) {
    this.options = options
  }

  stability(...args: Arguments<'stability'>): Promise<Report<'stability'>> {
    return this.ask('stability', args)
  }

  series(...args: Arguments<'series'>): Promise<Report<'series'>> {
    return this.ask('series', args)
  }

  cutoffs(...args: Arguments<'cutoffs'>): Promise<Report<'cutoffs'>> {
    return this.ask('cutoffs', args)
  }

  swapSet(...args: Arguments<'swapSet'>): Promise<Report<'swapSet'>> {
    return this.ask('swapSet', args)
  }

  migration(...args: Arguments<'migration'>): Promise<Report<'migration'>> {
    return this.ask('migration', args)
  }

  versions(...args: Arguments<'versions'>): Promise<Report<'versions'>> {
    return this.ask('versions', args)
  }

  async close(): Promise<void> {
    this.isClosed = true
    const { worker } = this
    if (worker === null) return
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    const overdue = setTimeout(() => void worker.terminate(), CLOSE_TIMEOUT_MS)
    worker.postMessage(END)
    await ended
    clearTimeout(overdue)
  }

  private ask<Name extends ReportName>(
    name: Name,
    [caller, ...rest]: Arguments<Name>,
  ): Promise<Report<Name>> {
    const args = [sent(caller), ...rest]
    const asked = JSON.stringify([name, visibleTo(caller), rest])
    const known = this.shared.get(asked)
    // Only reports of this name are kept under a text that begins with it.
    if (known !== undefined) return known as Promise<Report<Name>>
    const made = this.order(name, args)
    this.shared.set(asked, made)
    const forget = () => this.shared.delete(asked)
    made.then(forget, forget)
    return made as Promise<Report<Name>>
  }

  private order(name: ReportName, args: readonly unknown[]): Promise<unknown> {
    const worker = this.worker ?? this.start()
    if (worker === null) return Promise.reject(interrupted())
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const order: ReportOrder = { id: this.nextId++, name, args }
    this.waiting.set(order.id, { resolve, reject })
    worker.postMessage(order)
    return promise
  }

  private start(): Worker | null {
    if (this.isClosed) return null
    const { databaseUrl, archive, onCrash, onSilent } = this.options
    const workerData: ReportsWorkerData = { databaseUrl, archive }
    let worker: Worker
    try {
      worker = new Worker(WORKER, {
        workerData,
        execArgv: [],
        name: 'reports',
        resourceLimits: MEMORY_MB,
      })
    } catch (error) {
      // The system can't create another thread.
      onCrash(error)
      return null
    }
    worker.on('message', (message: ReportReply | typeof SILENT) => {
      if (message === SILENT) onSilent()
      else this.settle(message)
    })
    worker.on('error', onCrash)
    worker.on('exit', () => {
      this.worker = null
      const interruptedOnes = [...this.waiting.values()]
      this.waiting.clear()
      for (const { reject } of interruptedOnes) reject(interrupted())
    })
    this.worker = worker
    return worker
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

/** All of a caller that a report depends on. */
function visibleTo(caller: Caller): readonly unknown[] {
  return [caller.teamId, caller.kind, caller.kind === 'key' ? caller.environment : null]
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
