import { Worker } from 'node:worker_threads'
import type { SegmentRange } from '../spool/reader.ts'
import type { DrainedRange, RangeDrainer } from './drained-range.ts'

/** Start data of the thread. */
export interface DrainWorkerData {
  readonly databaseUrl: string
  /** Names the rollup rows that only this thread writes. */
  readonly writer: string
}

interface DrainThreadOptions extends DrainWorkerData {
  /** Called if the thread ends by itself or can't be started; another thread replaces it. */
  readonly onCrash: (error: unknown) => void
  /** Called if the database did not answer the thread: other connections can be dead too. */
  readonly onSilent: () => void
}

/** Message that ends the thread after its current range. */
export const END = 'end'
/** Message that the database did not answer in time. */
export const SILENT = 'silent'

const WORKER = new URL('./drain-worker.ts', import.meta.url)
/** Longer than the thread's own deadline for the database. */
const DEADLINE_MS = 15_000
const RESTART_PAUSE_MS = 5_000
const CLOSE_TIMEOUT_MS = 1_000
/** A batch is at most 8 MiB, in a buffer outside the heap. */
const MEMORY_MB = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 24 }

/**
 * A thread that reads records from the spool's files and writes them to PostgreSQL. On the thread
 * that answers requests, this took as long as the rest of a score.
 *
 * It drains one range at a time. A thread that dies or exceeds its deadline is replaced; its range
 * may or may not be in the log then.
 */
export class DrainThread implements RangeDrainer {
  private readonly options: DrainThreadOptions
  private worker: Worker | null = null
  private endedAtMs = Number.NEGATIVE_INFINITY
  private isClosed = false
  private onReply: (drained: DrainedRange | null) => void = () => undefined

  constructor(options: DrainThreadOptions) {
    this.options = options
    this.start()
  }

  async drainRange(range: SegmentRange): Promise<DrainedRange | null> {
    if (this.worker === null) this.start()
    const { worker } = this
    if (worker === null) return null
    const { promise, resolve } = Promise.withResolvers<DrainedRange | null>()
    this.onReply = resolve
    const overdue = setTimeout(() => {
      this.options.onCrash(new Error('it did not answer in time'))
      void worker.terminate()
    }, DEADLINE_MS)
    worker.postMessage(range)
    try {
      return await promise
    } finally {
      clearTimeout(overdue)
    }
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

  private start(): void {
    if (this.isClosed || performance.now() - this.endedAtMs < RESTART_PAUSE_MS) return
    const { databaseUrl, writer, onCrash, onSilent } = this.options
    const workerData: DrainWorkerData = { databaseUrl, writer }
    let worker: Worker
    try {
      worker = new Worker(WORKER, {
        workerData,
        execArgv: [],
        name: 'score log',
        resourceLimits: MEMORY_MB,
      })
    } catch (error) {
      // The system can't create another thread.
      this.endedAtMs = performance.now()
      onCrash(error)
      return
    }
    worker.on('message', (message: DrainedRange | null | typeof SILENT) => {
      if (message === SILENT) onSilent()
      else this.onReply(message)
    })
    worker.on('error', onCrash)
    worker.on('exit', () => {
      this.worker = null
      this.endedAtMs = performance.now()
      this.onReply(null)
    })
    this.worker = worker
  }
}
