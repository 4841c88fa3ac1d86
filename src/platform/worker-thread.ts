import { Worker } from 'node:worker_threads'
import { QUICK_START } from './quick-start-argv.ts'

/** Message that ends a thread after its current work. */
export const END = 'end'
/** Message of a thread that the database did not answer in time. */
export const SILENT = 'silent'

interface WorkerThreadOptions<Reply> {
  /** Entry point. It closes its port at the message `END`. */
  readonly file: URL
  readonly name: string
  /** Start data; must be structured-cloneable. */
  readonly workerData: object
  /** Bounds of the heap; buffers lie outside of it. */
  readonly memoryMb: { readonly old: number; readonly young: number }
  /** Least time from the end of a thread, or a start that failed, to the next start. */
  readonly restartPauseMs: number
  /**
   * How long a thread stays that has answered everything: then it has to post one reply to each
   * message. null: it stays.
   */
  readonly idleMs: number | null
  readonly onReply: (reply: Reply) => void
  /** Called when a thread has ended, also one that was told to, but not one without work. */
  readonly onEnded: () => void
  /** Called if a thread ends by an error or can't be started. */
  readonly onCrash: (error: unknown) => void
  /** Called if the database did not answer the thread: other connections can be dead too. */
  readonly onSilent: () => void
}

const CLOSE_TIMEOUT_MS = 1_000

/**
 * A thread that takes one message after the other.
 *
 * States: *off*, until `start` or `post`, and again after the thread has died or had no work for
 * `idleMs`: a thread takes tens of megabytes; *on*; *closed*, from `close` on: no thread is started
 * any more.
 */
export class WorkerThread<Message, Reply> {
  private readonly options: WorkerThreadOptions<Reply>
  private worker: Worker | null = null
  private endedAtMs = Number.NEGATIVE_INFINITY
  private isClosed = false
  /** Messages to the thread without a reply. */
  private unanswered = 0
  private idle: NodeJS.Timeout | undefined
  /** Ends of threads that had no work. */
  private readonly leaving = new Set<Promise<void>>()

  constructor(options: WorkerThreadOptions<Reply>) {
    this.options = options
  }

  /** Starts a thread unless one is on. @returns whether one is on */
  start(): boolean {
    this.worker ??= this.newWorker()
    return this.worker !== null
  }

  get isOn(): boolean {
    return this.worker !== null
  }

  /**
   * Sends a message.
   *
   * @param moved memory that the thread takes over, and that is no longer here
   * @returns false if no thread can take it
   */
  post(message: Message, moved: readonly ArrayBuffer[] = []): boolean {
    if (!this.start()) return false
    clearTimeout(this.idle)
    this.worker?.postMessage(message, moved)
    this.unanswered++
    return true
  }

  /** Ends the thread amid its work; the next message starts another. */
  terminate(): void {
    void this.worker?.terminate()
  }

  /** Ends the thread after its current work, or after a second. */
  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.idle)
    const { worker } = this
    await Promise.all([...this.leaving, ...(worker === null ? [] : [ended(worker)])])
  }

  private noteReply(): void {
    this.unanswered--
    const { idleMs } = this.options
    if (this.unanswered > 0 || this.isClosed || idleMs === null) return
    this.idle = setTimeout(() => this.leave(), idleMs).unref()
  }

  /** Ends the thread, which has no work. The next message starts another, even before the end. */
  private leave(): void {
    const { worker } = this
    if (worker === null) return
    this.worker = null
    const end = ended(worker).finally(() => this.leaving.delete(end))
    this.leaving.add(end)
  }

  private newWorker(): Worker | null {
    const { file, name, workerData, memoryMb, restartPauseMs } = this.options
    if (this.isClosed || performance.now() - this.endedAtMs < restartPauseMs) return null
    const { onReply, onEnded, onCrash, onSilent } = this.options
    let worker: Worker
    try {
      worker = new Worker(file, {
        workerData,
        execArgv: [...QUICK_START],
        name,
        resourceLimits: {
          maxOldGenerationSizeMb: memoryMb.old,
          maxYoungGenerationSizeMb: memoryMb.young,
        },
      })
    } catch (error) {
      // The system can't create another thread.
      this.endedAtMs = performance.now()
      onCrash(error)
      return null
    }
    worker.on('message', (message: Reply | typeof SILENT) => {
      if (message === SILENT) {
        onSilent()
        return
      }
      if (this.worker === worker) this.noteReply()
      onReply(message)
    })
    worker.on('error', (error) => {
      // One that leaves has no work to lose.
      if (this.worker === worker) onCrash(error)
    })
    // A message that can't be read is lost, and whoever waits for it must learn of it.
    worker.on('messageerror', (error) => {
      onCrash(error)
      void worker.terminate()
    })
    worker.on('exit', () => {
      if (this.worker !== worker) return
      this.worker = null
      this.unanswered = 0
      clearTimeout(this.idle)
      this.endedAtMs = performance.now()
      onEnded()
    })
    return worker
  }
}

/** Ends a thread after its current work, or after a second. */
async function ended(worker: Worker): Promise<void> {
  const exited = new Promise((resolve) => worker.once('exit', resolve))
  const overdue = setTimeout(() => void worker.terminate(), CLOSE_TIMEOUT_MS)
  worker.postMessage(END)
  await exited
  clearTimeout(overdue)
}
