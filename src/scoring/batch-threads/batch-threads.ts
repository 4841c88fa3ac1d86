import { availableParallelism } from 'node:os'
import { AppError } from '../../errors.ts'
import { WorkerThread } from '../../platform/worker-thread.ts'
import { ScoredBatch } from '../scored-batch.ts'
import type { ServingDeployment } from '../serving.ts'
import {
  type CopySource,
  type DeploymentCopy,
  HeldDeployments,
  readCopy,
} from './held-deployments.ts'
import type { BatchDone, BatchMessage, BatchOrder, BatchReply } from './messages.ts'

/** What a `BatchThreads` uses of a thread. */
export type BatchWorker = Pick<
  WorkerThread<BatchMessage, BatchReply>,
  'post' | 'isOn' | 'terminate' | 'close'
>

interface WorkerEvents {
  readonly onReply: (reply: BatchReply) => void
  /** Called when the thread has ended, for whatever reason. */
  readonly onEnded: () => void
}

interface BatchThreadsOptions {
  /** Number of threads; 0: the thread that answers scores all batches. */
  readonly threads: number
  readonly source: CopySource
  /** How many requests for single scores there were so far. */
  readonly singles: () => number
  /** Called if a thread ends by itself or can't be started; the next batch starts another. */
  readonly onCrash: (error: unknown) => void
  /** By default a thread of the process. */
  readonly newWorker?: (events: WorkerEvents) => BatchWorker
  readonly monotonicMs?: () => number
}

interface Waiting {
  readonly bytes: number
  readonly sinceMs: number
  readonly resolve: (outcome: BatchReply['outcome']) => void
}

interface BatchThread {
  readonly worker: BatchWorker
  readonly held: HeldDeployments
  readonly waiting: Map<number, Waiting>
  waitingBytes: number
  watch: NodeJS.Timeout | undefined
}

const WORKER = new URL('./batch-worker.ts', import.meta.url)
const MEMORY_MB = { old: 512, young: 64 }
const RESTART_PAUSE_MS = 1_000
/** Most threads where the configuration names no number. */
const THREADS_USUAL_MAX = 4
/** A smaller body is scored faster than handed over. */
const BODY_BYTES_MIN = 32 * 1024
/** A larger body takes much memory once it is parsed: one at a time is, by the answering thread. */
const BODY_BYTES_MAX = 2 * 1024 * 1024
/** Bodies of all threads, under way and waiting. */
const BODIES_BYTES_MAX = 4 * 1024 * 1024
/** Batches of one thread, under way and waiting, while single scores are asked for. */
const WAITING_MAX = 16
/** While none are: one under way and the next. The thread that answers scores further ones. */
const WAITING_QUIET_MAX = 2
/** None are asked for if none was for so long. */
const QUIET_AFTER_MS = 10_000
/** A thread that has not answered for so long is ended. */
const ANSWER_WITHIN_MS = 10_000

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
 * Scores batches on threads of their own, so that single scores wait less behind a thousand
 * records, and so that batches use more than one core.
 *
 * A thread only helps. For a batch that succeeds it gives the answer and the rows of the log, which
 * the thread that answers writes; for one that the service refuses, the refusal. Where a thread is
 * missing, full, dead or gives up, the thread that answers scores the batch with the same code.
 */
export class BatchThreads {
  /** Large batches by outcome; those of the last four were left to the thread that answers. */
  readonly counts = { scored: 0, refused: 0, given_up: 0, died: 0, full: 0, not_held: 0 }
  private readonly options: BatchThreadsOptions
  private readonly monotonicMs: () => number
  private readonly threads: readonly BatchThread[]
  private readonly copies = new Map<ServingDeployment, Promise<DeploymentCopy>>()
  private bodiesBytes = 0
  private nextId = 1
  private singlesSeen = 0
  private singlesAtMs = Number.NEGATIVE_INFINITY

  constructor(options: BatchThreadsOptions) {
    this.options = options
    this.monotonicMs = options.monotonicMs ?? (() => performance.now())
    this.threads = Array.from({ length: options.threads }, () => this.newThread())
  }

  /** Whether a batch with a body of so many bytes is one for a thread. */
  takes(bytes: number): boolean {
    return this.threads.length > 0 && bytes >= BODY_BYTES_MIN && bytes <= BODY_BYTES_MAX
  }

  /**
   * Hands a batch to a thread, if `takes` says so.
   *
   * @returns null if no thread has room for it and holds the deployment; it resolves to null if the
   *   thread that answers is to score it after all, and rejects with the AppError of a refusal
   */
  score(deployment: ServingDeployment, order: BatchOrder): Promise<ScoredBatch | null> | null {
    const bytes = order.body.length
    if (!this.takes(bytes)) return null
    const isBusy = !this.isQuiet()
    const open = this.threads.filter(({ waiting }) => {
      return waiting.size < (isBusy ? WAITING_MAX : WAITING_QUIET_MAX)
    })
    if (open.length === 0 || this.bodiesBytes + bytes > BODIES_BYTES_MAX) {
      this.counts.full++
      return null
    }
    const chosen = open
      .map((thread) => ({ thread, heldId: thread.held.idOf(deployment) }))
      .filter(({ heldId }) => heldId !== null)
      .sort((a, b) => a.thread.waitingBytes - b.thread.waitingBytes)[0]
    if (chosen === undefined || chosen.heldId === null) {
      this.counts.not_held++
      return null
    }
    return this.hand(chosen.thread, chosen.heldId, deployment, order)
  }

  async close(): Promise<void> {
    await Promise.all(this.threads.map(({ worker }) => worker.close()))
  }

  private async hand(
    thread: BatchThread,
    heldId: number,
    deployment: ServingDeployment,
    order: BatchOrder,
  ): Promise<ScoredBatch | null> {
    const { promise, resolve } = Promise.withResolvers<BatchReply['outcome']>()
    const id = this.nextId++
    const bytes = order.body.length
    thread.waiting.set(id, { bytes, sinceMs: this.monotonicMs(), resolve })
    thread.waitingBytes += bytes
    this.bodiesBytes += bytes
    this.watch(thread)
    if (!thread.worker.post({ kind: 'score', id, heldId, order })) this.settle(thread, id, 'died')
    const outcome = await promise
    if (typeof outcome === 'string') {
      this.counts[outcome]++
      return null
    }
    if ('refusal' in outcome) {
      this.counts.refused++
      const { code, message, details } = outcome.refusal
      throw new AppError(code, message, details === undefined ? {} : { details })
    }
    this.counts.scored++
    return scoredBatch(deployment, order, outcome, thread)
  }

  private newThread(): BatchThread {
    const events: WorkerEvents = {
      onReply: ({ id, outcome }) => this.settle(thread, id, outcome),
      onEnded: () => this.end(thread),
    }
    const worker = (this.options.newWorker ?? ((on) => this.startable(on)))(events)
    const held = new HeldDeployments({
      copyOf: (deployment) => this.copyOf(deployment),
      onHold: (message) => worker.post(message),
      // A thread that is off holds nothing.
      onDrop: (heldId) => void (worker.isOn && worker.post({ kind: 'drop', heldId })),
      monotonicMs: this.monotonicMs,
    })
    const thread: BatchThread = {
      worker,
      held,
      waiting: new Map(),
      waitingBytes: 0,
      watch: undefined,
    }
    return thread
  }

  private startable({ onReply, onEnded }: WorkerEvents): BatchWorker {
    return new WorkerThread<BatchMessage, BatchReply>({
      file: WORKER,
      name: 'batches',
      workerData: {},
      memoryMb: MEMORY_MB,
      restartPauseMs: RESTART_PAUSE_MS,
      // A thread that ended would have to be sent every deployment again.
      idleMs: null,
      onReply,
      onEnded,
      onCrash: this.options.onCrash,
      onSilent: () => undefined,
    })
  }

  /** Threads that begin to hold a deployment at the same time read it once. */
  private copyOf(deployment: ServingDeployment): Promise<DeploymentCopy> {
    const running = this.copies.get(deployment)
    if (running !== undefined) return running
    const copy = readCopy(this.options.source, deployment).finally(() => {
      this.copies.delete(deployment)
    })
    this.copies.set(deployment, copy)
    return copy
  }

  private isQuiet(): boolean {
    const singles = this.options.singles()
    const nowMs = this.monotonicMs()
    if (singles !== this.singlesSeen) {
      this.singlesSeen = singles
      this.singlesAtMs = nowMs
    }
    return nowMs - this.singlesAtMs > QUIET_AFTER_MS
  }

  private settle(thread: BatchThread, id: number, outcome: BatchReply['outcome']): void {
    const found = thread.waiting.get(id)
    if (found === undefined) return
    thread.waiting.delete(id)
    thread.waitingBytes -= found.bytes
    this.bodiesBytes -= found.bytes
    found.resolve(outcome)
  }

  private end(thread: BatchThread): void {
    thread.held.clear()
    for (const id of [...thread.waiting.keys()]) this.settle(thread, id, 'died')
  }

  /** Ends a thread that stands still; its batches are scored here then. */
  private watch(thread: BatchThread): void {
    if (thread.watch !== undefined) return
    const look = () => {
      thread.watch = undefined
      const [oldest] = thread.waiting.values()
      if (oldest === undefined) return
      if (this.monotonicMs() - oldest.sinceMs >= ANSWER_WITHIN_MS) thread.worker.terminate()
      this.watch(thread)
    }
    thread.watch = setTimeout(look, ANSWER_WITHIN_MS / 4).unref()
  }
}

function scoredBatch(
  deployment: ServingDeployment,
  { scoredAtMs }: BatchOrder,
  { memory, answerBytes, ...done }: BatchDone,
  { worker }: BatchThread,
): ScoredBatch {
  const bytes = Buffer.from(memory, 0, answerBytes)
  const sent = () => {
    if (worker.isOn) worker.post({ kind: 'memory', memory }, [memory])
  }
  return new ScoredBatch({ ...done, deployment, scoredAtMs, response: { bytes, sent } })
}
