import { availableParallelism } from 'node:os'
import { WorkerThread } from '../../platform/worker-thread.ts'
import { ScoredBatch } from '../scored-batch.ts'
import type { ServingDeployment } from '../serving.ts'
import { HeldDeployments, type SpecTexts } from './held-deployments.ts'
import type { BatchDone, BatchMessage, BatchOrder, BatchReply, DropMessage } from './messages.ts'

interface BatchThreadsOptions {
  /** Number of threads; 0: the thread that answers scores all batches. */
  readonly threads: number
  readonly store: SpecTexts
  /** How many single scores were asked for so far. */
  readonly singles: () => number
  /** Called if a thread ends by itself or can't be started; the next batch starts another. */
  readonly onCrash: (error: unknown) => void
}

type OnDone = (done: BatchDone | null) => void

interface BatchThread {
  readonly thread: WorkerThread<BatchMessage, BatchReply>
  readonly waiting: Map<number, { readonly bytes: number; readonly onDone: OnDone }>
  waitingBytes: number
}

/** Most threads where the configuration names no number. */
const THREADS_USUAL_MAX = 4
const WORKER = new URL('./batch-worker.ts', import.meta.url)
const MEMORY_MB = { old: 512, young: 64 }
const RESTART_PAUSE_MS = 1_000
/** A smaller body is scored faster than handed over. */
const HANDED_BYTES_MIN = 32 * 1024
/** Batches of one thread, under way and waiting, while single scores are asked for. */
const WAITING_MAX = 16
const WAITING_BYTES_MAX = 4 * 1024 * 1024
/** While none are: one under way and the next. The thread that answers scores further ones. */
const WAITING_QUIET_MAX = 2
/** None are asked for if none was for so long. */
const QUIET_AFTER_MS = 100

/**
 * One thread for each core that the threads that answer leave.
 *
 * @param processes that share the cores
 */
export function batchThreadsFor(processes: number): number {
  const ownCores = Math.floor(availableParallelism() / processes)
  return Math.min(THREADS_USUAL_MAX, Math.max(0, ownCores - 1))
}

/**
 * Scores batches on threads of their own, so that a single score does not wait behind a thousand
 * records, and so that batches use more than one core.
 *
 * A thread only helps. It gives the answer and the rows of the log for a batch that succeeds; the
 * thread that answers writes the log. Where a thread is missing, full, dead or gives up, the thread
 * that answers scores the batch itself, with the same code.
 */
export class BatchThreads {
  /** Batches that were handed to a thread, by what became of them. */
  readonly handed = { scored: 0, given_up: 0 }
  private readonly options: BatchThreadsOptions
  private readonly threads: readonly BatchThread[]
  private readonly held: HeldDeployments
  private nextId = 1
  private singlesSeen = 0
  private singlesAtMs = Number.NEGATIVE_INFINITY

  constructor(options: BatchThreadsOptions) {
    this.options = options
    this.threads = Array.from({ length: options.threads }, () => this.newThread())
    this.held = new HeldDeployments({
      store: options.store,
      onHold: (message) => this.tellAll(message),
      onDrop: (heldId) => this.drop({ kind: 'drop', heldId }),
    })
  }

  /**
   * Hands a batch that `takes` has admitted to a thread.
   *
   * @returns null if none takes it; it resolves to null for a batch that the thread gave up
   */
  score(deployment: ServingDeployment, order: BatchOrder): Promise<ScoredBatch | null> | null {
    const bytes = order.body.length
    const heldId = this.held.idOf(deployment)
    const free = heldId === null ? null : this.freeThread()
    if (heldId === null || free === null) return null
    const { promise, resolve } = Promise.withResolvers<ScoredBatch | null>()
    const id = this.nextId++
    free.waiting.set(id, {
      bytes,
      onDone: (done) => resolve(done === null ? null : scoredBatch(deployment, order, done, free)),
    })
    free.waitingBytes += bytes
    if (!free.thread.post({ kind: 'score', id, heldId, order })) this.settle(free, id, null)
    return promise
  }

  /** Whether a batch with a body of so many bytes is one for a thread. */
  takes(bytes: number): boolean {
    return this.threads.length > 0 && bytes >= HANDED_BYTES_MIN
  }

  async close(): Promise<void> {
    await Promise.all(this.threads.map(({ thread }) => thread.close()))
  }

  private newThread(): BatchThread {
    const thread = new WorkerThread<BatchMessage, BatchReply>({
      file: WORKER,
      name: 'batches',
      workerData: {},
      memoryMb: MEMORY_MB,
      restartPauseMs: RESTART_PAUSE_MS,
      onReply: ({ id, done }) => this.settle(one, id, done),
      onEnded: () => this.giveUp(one),
      onCrash: this.options.onCrash,
      onSilent: () => undefined,
    })
    const one: BatchThread = { thread, waiting: new Map(), waitingBytes: 0 }
    return one
  }

  /** The one with the fewest batches; null if all have enough. */
  private freeThread(): BatchThread | null {
    const [first, ...others] = this.threads
    if (first === undefined) return null
    const free = others.reduce(
      (best, one) => (one.waiting.size < best.waiting.size ? one : best),
      first,
    )
    const { waiting, waitingBytes } = free
    const most = this.isQuiet() ? WAITING_QUIET_MAX : WAITING_MAX
    return waiting.size < most && waitingBytes < WAITING_BYTES_MAX ? free : null
  }

  private isQuiet(): boolean {
    const singles = this.options.singles()
    const nowMs = performance.now()
    if (singles !== this.singlesSeen) {
      this.singlesSeen = singles
      this.singlesAtMs = nowMs
    }
    return nowMs - this.singlesAtMs > QUIET_AFTER_MS
  }

  private settle(thread: BatchThread, id: number, done: BatchDone | null): void {
    const found = thread.waiting.get(id)
    if (found === undefined) return
    thread.waiting.delete(id)
    thread.waitingBytes -= found.bytes
    this.handed[done === null ? 'given_up' : 'scored']++
    found.onDone(done)
  }

  private giveUp(ended: BatchThread): void {
    this.held.clear()
    for (const id of [...ended.waiting.keys()]) this.settle(ended, id, null)
  }

  /** @throws Error if a thread can't be started now */
  private tellAll(message: BatchMessage): void {
    if (!this.threads.every(({ thread }) => thread.start())) throw new Error('a thread is missing')
    for (const { thread } of this.threads) thread.post(message)
  }

  /** A thread that is off holds nothing. */
  private drop(message: DropMessage): void {
    for (const { thread } of this.threads) if (thread.isOn) thread.post(message)
  }
}

function scoredBatch(
  deployment: ServingDeployment,
  { scoredAtMs }: BatchOrder,
  { memory, answerBytes, ...done }: BatchDone,
  { thread }: BatchThread,
): ScoredBatch {
  const bytes = Buffer.from(memory, 0, answerBytes)
  const sent = () => {
    if (thread.isOn) thread.post({ kind: 'memory', memory }, [memory])
  }
  return new ScoredBatch({ ...done, deployment, scoredAtMs, response: { bytes, sent } })
}
