import { Worker } from 'node:worker_threads'
import type { Carried, Carrier } from './carrier.ts'
import type { SpoolStretch } from './reader.ts'

/** What the thread is handed. */
export interface CarrierOrder {
  readonly databaseUrl: string
  /** Names the rollup rows that only this thread writes. */
  readonly writer: string
}

interface CarrierThreadOptions extends CarrierOrder {
  /** Told when the thread has ended by itself, or can't be started; another takes its place. */
  readonly onCrash: (error: unknown) => void
  /** Told when the database did not answer the thread: other connections to it may be dead as well. */
  readonly onSilent: () => void
}

/** Asks the thread to end when nothing is under way. */
export const END = 'end'
/** Tells that the database did not answer in time. */
export const SILENT = 'silent'

const WORKER = new URL('carrier-worker.ts', import.meta.url)
/** The thread itself gives up on the database before that. */
const DEADLINE_MS = 15_000
const RESTART_PAUSE_MS = 5_000
const CLOSE_TIMEOUT_MS = 1_000
/** A batch is 4 MB, and little of it is held as objects. */
const MEMORY_MB = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 24 }

/**
 * A thread that reads records from the spool's files and gives them to PostgreSQL: in the thread that
 * answers requests that took as long as everything else of a score.
 *
 * Carries one stretch at a time. A thread that dies, or does not answer in time, is replaced; what it was at
 * then may or may not be in the log.
 */
export class CarrierThread implements Carrier {
  private readonly options: CarrierThreadOptions
  private worker: Worker | null = null
  private endedAtMs = Number.NEGATIVE_INFINITY
  private isClosed = false
  private answered: (carried: Carried | null) => void = () => undefined

  constructor(options: CarrierThreadOptions) {
    this.options = options
    this.start()
  }

  async carry(stretch: SpoolStretch): Promise<Carried | null> {
    if (this.worker === null) this.start()
    const { worker } = this
    if (worker === null) return null
    const { promise, resolve } = Promise.withResolvers<Carried | null>()
    this.answered = resolve
    const overdue = setTimeout(() => {
      this.options.onCrash(new Error('it did not answer in time'))
      void worker.terminate()
    }, DEADLINE_MS)
    worker.postMessage(stretch)
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
    const workerData: CarrierOrder = { databaseUrl, writer }
    let worker: Worker
    try {
      worker = new Worker(WORKER, {
        ...{ workerData, execArgv: [], name: 'score log' },
        resourceLimits: MEMORY_MB,
      })
    } catch (error) {
      // The system has no thread left.
      this.endedAtMs = performance.now()
      onCrash(error)
      return
    }
    worker.on('message', (message: Carried | null | typeof SILENT) => {
      if (message === SILENT) onSilent()
      else this.answered(message)
    })
    worker.on('error', onCrash)
    worker.on('exit', () => {
      this.worker = null
      this.endedAtMs = performance.now()
      this.answered(null)
    })
    this.worker = worker
  }
}
