import { parentPort, Worker } from 'node:worker_threads'
import { QUICK_START } from './quick-start-argv.ts'

interface WorkerThreadOptions {
  /** Entry point, which calls `answerCalls`. */
  readonly file: URL
  readonly name: string
  /** Start data; must be structured-cloneable. */
  readonly workerData: object
  /** Bounds of the heap; buffers lie outside of it. */
  readonly memoryMb: { readonly old: number; readonly young: number }
  /** Least time from the end of a thread, or a start that failed, to the next start. */
  readonly restartPauseMs: number
  /**
   * Time for which a thread stays without a message, once it has answered all calls; null: for
   * ever.
   */
  readonly idleMs: number | null
  /** Called when a thread has ended or leaves for want of work: what it held is gone. */
  readonly onEnded?: () => void
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
  private readonly options: WorkerThreadOptions
  private worker: Worker | null = null
  private endedAtMs = Number.NEGATIVE_INFINITY
  private isClosed = false
  private nextId = 1
  /** Receives the reply of each call that has none yet. */
  private readonly waiting = new Map<number, (reply: Reply | null) => void>()
  private idle: NodeJS.Timeout | undefined
  /** Ends of threads that had no work. */
  private readonly leaving = new Set<Promise<void>>()

  constructor(options: WorkerThreadOptions) {
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

  /** @returns the reply; null if no thread can be started, or it ended without one */
  call(message: Message): Promise<Reply | null> {
    if (!this.start()) return Promise.resolve(null)
    clearTimeout(this.idle)
    const { promise, resolve } = Promise.withResolvers<Reply | null>()
    const id = this.nextId++
    this.waiting.set(id, resolve)
    this.send({ id, message }, [])
    return promise
  }

  /**
   * Sends a message that has no reply.
   *
   * @param moved memory that the thread takes over, and that is no longer here
   * @returns false if no thread can take it
   */
  post(message: Message, moved: readonly ArrayBuffer[] = []): boolean {
    if (!this.start()) return false
    this.send({ id: null, message }, moved)
    this.rest()
    return true
  }

  private send(sent: Sent<Message>, moved: readonly ArrayBuffer[]): void {
    this.worker?.postMessage(sent, moved)
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

  private settle({ id, reply }: Replied<Reply>): void {
    const resolve = this.waiting.get(id)
    this.waiting.delete(id)
    resolve?.(reply)
    this.rest()
  }

  /** Begins the time after which a thread leaves that has no work. */
  private rest(): void {
    const { idleMs } = this.options
    if (this.waiting.size > 0 || this.isClosed || idleMs === null) return
    clearTimeout(this.idle)
    this.idle = setTimeout(() => this.leave(), idleMs).unref()
  }

  /** Ends the thread, which has no work. The next message starts another, even before the end. */
  private leave(): void {
    const { worker } = this
    if (worker === null) return
    this.worker = null
    const end = ended(worker).finally(() => this.leaving.delete(end))
    this.leaving.add(end)
    this.options.onEnded?.()
  }

  private newWorker(): Worker | null {
    const { file, name, workerData, memoryMb, restartPauseMs } = this.options
    if (this.isClosed || performance.now() - this.endedAtMs < restartPauseMs) return null
    const { onEnded, onCrash, onSilent } = this.options
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
    worker.on('message', (message: Replied<Reply> | typeof SILENT) => {
      if (message === SILENT) onSilent()
      else this.settle(message)
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
      clearTimeout(this.idle)
      this.endedAtMs = performance.now()
      const lost = [...this.waiting.values()]
      this.waiting.clear()
      onEnded?.()
      for (const resolve of lost) resolve(null)
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

/** Message that ends a thread after its current work. */
const END = 'end'
/** Message of a thread that the database did not answer in time. */
export const SILENT = 'silent'

/** A message to a thread; without an id nobody waits for a reply. */
interface Sent<Message> {
  readonly id: number | null
  readonly message: Message
}

interface Replied<Reply> {
  readonly id: number
  readonly reply: Reply
}

interface AnswerOptions<Reply> {
  /** Finds the memory that leaves the thread with a reply; by default none. */
  readonly movedWith?: (reply: Reply) => readonly ArrayBuffer[]
  readonly onEnd?: () => Promise<void>
}

/**
 * Answers the calls of the `WorkerThread` that started this thread. Those that come meanwhile are
 * answered beside them. What `answer` throws ends the thread.
 */
export function answerCalls<Message, Reply>(
  answer: (message: Message) => Reply | Promise<Reply>,
  { movedWith = () => [], onEnd = async () => undefined }: AnswerOptions<Reply> = {},
): void {
  parentPort?.on('message', async (sent: Sent<Message> | typeof END) => {
    if (sent === END) {
      await onEnd()
      parentPort?.close()
      return
    }
    const { id, message } = sent
    const reply = await answer(message)
    if (id !== null)
      parentPort?.postMessage({ id, reply } satisfies Replied<Reply>, movedWith(reply))
  })
  // A message that can't be read is lost: whoever waits for its reply learns of the end.
  parentPort?.on('messageerror', (error) => {
    throw error
  })
}
