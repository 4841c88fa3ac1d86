import { availableParallelism } from 'node:os'
import { AppError, serviceBusy } from '../../errors.ts'
import { WorkerThread } from '../../platform/worker-thread.ts'
import { ScoredBatch } from '../batch-request.ts'
import type { ServingDeployment } from '../serving.ts'
import {
  AGAIN_WITHIN_MS,
  type CopySource,
  type DeploymentCopy,
  HeldDeployments,
  readCopy,
} from './held-deployments.ts'
import type { BatchDone, BatchMessage, BatchOrder, BatchReply } from './messages.ts'

/** The part of a thread that a `BatchThreads` uses. */
type BatchWorker = Pick<
  WorkerThread<BatchMessage, BatchReply>,
  'call' | 'post' | 'isOn' | 'terminate' | 'close'
>

interface WorkerEvents {
  /** Called when the thread has ended, for whatever reason: it holds nothing any more. */
  readonly onEnded: () => void
}

interface BatchThreadsOptions {
  /** Number of threads; 0: the thread that answers scores all batches. */
  readonly threads: number
  readonly source: CopySource
  /** Counts the requests for single scores so far. */
  readonly singles: () => number
  /** Called if a thread ends by itself or can't be started; the next batch starts another. */
  readonly onCrash: (error: unknown) => void
  /** By default a thread of the process. */
  readonly newWorker?: (events: WorkerEvents) => BatchWorker
  readonly monotonicMs?: () => number
}

interface Waiting {
  readonly weight: number
  readonly sinceMs: number
}

interface BatchThread {
  readonly worker: BatchWorker
  readonly held: HeldDeployments
  readonly waiting: Set<Waiting>
  waitingWeight: number
  repliedAtMs: number
  watch: NodeJS.Timeout | undefined
}

const WORKER = new URL('./batch-worker.ts', import.meta.url)
const MEMORY_MB = { old: 512, young: 24 }
const RESTART_PAUSE_MS = 1_000
/** Most threads where the configuration names no number. */
const THREADS_USUAL_MAX = 4
/** A lighter batch is scored faster than handed over. Weights are as `weighBatch` gives them. */
const WEIGHT_MIN = 32 * 1024
/** A heavier batch would hold up single scores for too long: a thread is made ready for it. */
const LARGE_WEIGHT = 2 * 1024 * 1024
/** Batches of all threads, under way and waiting: two of the largest bodies. */
const WEIGHTS_MAX = 32 * 1024 * 1024
/** Batches of one thread, under way and waiting, while single scores are asked for. */
const WAITING_MAX = 16
/** While none are: one under way and the next. The thread that answers scores further ones. */
const WAITING_QUIET_MAX = 2
/** None are asked for if none was for so long. */
const QUIET_AFTER_MS = 10_000
/** A thread that has not answered for so long is ended: one with a large batch, and any other. */
const LARGE_ANSWER_WITHIN_MS = 60_000
const ANSWER_WITHIN_MS = 10_000
/** A large batch waits so long for room in a thread. */
const ROOM_WITHIN_MS = 10_000

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
 * records, and so that batches use more than one core. A batch of 1,000 takes 6 ms of the thread
 * that answers, and 11 ms where it scores it: `npm run bench -- mixed`, with the threads and without.
 *
 * A thread only helps. For a batch that succeeds it gives the answer and the rows of the log, which
 * the thread that answers writes; for one that the service refuses, the refusal. Where a thread is
 * missing, full, dead or gives up, the thread that answers scores the batch with the same code. A
 * large batch waits for room instead, and is refused where there is none or where its thread dies.
 */
export class BatchThreads {
  /**
   * Batches by outcome. The thread that answers scored those of the last four, but for large ones
   * that were `died` or `full`: they were refused.
   */
  readonly counts = { scored: 0, refused: 0, given_up: 0, died: 0, full: 0, not_held: 0 }
  private readonly options: BatchThreadsOptions
  private readonly monotonicMs: () => number
  private readonly threads: readonly BatchThread[]
  private readonly copies = new Map<ServingDeployment, Promise<DeploymentCopy>>()
  private weights = 0
  /** Large batches that wait for room. */
  private readonly wakes: (() => void)[] = []
  private singlesSeen = 0
  private singlesAtMs = Number.NEGATIVE_INFINITY

  constructor(options: BatchThreadsOptions) {
    this.options = options
    this.monotonicMs = options.monotonicMs ?? (() => performance.now())
    this.threads = Array.from({ length: options.threads }, () => this.newThread())
  }

  /** Tells whether a batch of this weight is one for a thread. */
  takes(weight: number): boolean {
    return this.threads.length > 0 && weight >= WEIGHT_MIN
  }

  /** Tells whether the thread that answers should not score a batch of this weight. */
  isLarge(weight: number): boolean {
    return weight > LARGE_WEIGHT
  }

  /**
   * Hands a batch to a thread, if `takes` says so.
   *
   * @returns null if no thread has room for it and holds the deployment; it resolves to null if the
   *   thread that answers is to score it after all, and rejects with the AppError of a refusal:
   *   `unavailable` for a large batch that no thread has room for or that died with its thread
   */
  score(deployment: ServingDeployment, order: BatchOrder): Promise<ScoredBatch | null> | null {
    const { weight } = order
    if (!this.takes(weight)) return null
    const open = this.openFor(weight)
    if (open.length === 0) {
      if (this.isLarge(weight)) return this.scoreOnceOpen(deployment, order)
      this.counts.full++
      return null
    }
    const chosen = open
      .map((thread) => ({ thread, heldId: thread.held.readId(deployment) }))
      .filter(({ heldId }) => heldId !== null)
      .sort((a, b) => a.thread.waitingWeight - b.thread.waitingWeight)[0]
    if (chosen === undefined || chosen.heldId === null) {
      const [thread] = open
      if (thread !== undefined && this.isLarge(weight)) {
        return this.handOnceHeld(thread, deployment, order)
      }
      this.counts.not_held++
      return null
    }
    return this.hand(chosen.thread, chosen.heldId, deployment, order)
  }

  private openFor(weight: number): BatchThread[] {
    const isQuiet = this.isQuiet()
    if (this.weights + weight > WEIGHTS_MAX) return []
    const waitingMax = isQuiet && !this.isLarge(weight) ? WAITING_QUIET_MAX : WAITING_MAX
    return this.threads.filter(({ waiting }) => waiting.size < waitingMax)
  }

  private async scoreOnceOpen(
    deployment: ServingDeployment,
    order: BatchOrder,
  ): Promise<ScoredBatch | null> {
    const untilMs = this.monotonicMs() + ROOM_WITHIN_MS
    while (this.openFor(order.weight).length === 0) {
      const leftMs = untilMs - this.monotonicMs()
      if (leftMs <= 0) {
        this.counts.full++
        throw serviceBusy()
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      this.wakes.push(resolve)
      const overdue = setTimeout(resolve, leftMs)
      await promise
      clearTimeout(overdue)
    }
    return this.score(deployment, order)
  }

  private async handOnceHeld(
    thread: BatchThread,
    deployment: ServingDeployment,
    order: BatchOrder,
  ): Promise<ScoredBatch | null> {
    const heldId = await thread.held.hold(deployment)
    if (heldId !== null) return this.hand(thread, heldId, deployment, order)
    this.counts.not_held++
    return null
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
    const { weight } = order
    const entry = { weight, sinceMs: this.monotonicMs() }
    thread.waiting.add(entry)
    thread.waitingWeight += weight
    this.weights += weight
    this.watch(thread)
    const outcome = (await thread.worker.call({ kind: 'score', heldId, order })) ?? 'died'
    if (outcome !== 'died') thread.repliedAtMs = this.monotonicMs()
    this.settle(thread, entry)
    if (typeof outcome === 'string') {
      this.counts[outcome]++
      if (outcome !== 'died' || !this.isLarge(weight)) return null
      throw new AppError('unavailable', 'the batch could not be scored in time: send it again')
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
      onEnded: () => thread.held.clear(),
    }
    const worker = (this.options.newWorker ?? ((on) => this.startable(on)))(events)
    const held = new HeldDeployments({
      copyDeployment: (deployment) => this.copyDeployment(deployment),
      onHold: (message) => worker.post(message),
      // A thread that is off holds nothing.
      onDrop: (heldId) => void (worker.isOn && worker.post({ kind: 'drop', heldId })),
      monotonicMs: this.monotonicMs,
    })
    const thread: BatchThread = {
      worker,
      held,
      waiting: new Set(),
      waitingWeight: 0,
      repliedAtMs: 0,
      watch: undefined,
    }
    return thread
  }

  private startable({ onEnded }: WorkerEvents): BatchWorker {
    return new WorkerThread<BatchMessage, BatchReply>({
      file: WORKER,
      name: 'batches',
      workerData: {},
      memoryMb: MEMORY_MB,
      restartPauseMs: RESTART_PAUSE_MS,
      // After that, a deployment would not be held anew either: the memory is worth more.
      idleMs: AGAIN_WITHIN_MS,
      onEnded,
      onCrash: this.options.onCrash,
      onSilent: () => undefined,
    })
  }

  /** Threads that begin to hold a deployment at the same time read it once. */
  private copyDeployment(deployment: ServingDeployment): Promise<DeploymentCopy> {
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

  private settle(thread: BatchThread, entry: Waiting): void {
    thread.waiting.delete(entry)
    thread.waitingWeight -= entry.weight
    this.weights -= entry.weight
    for (const wake of this.wakes.splice(0)) wake()
  }

  /** Ends a thread that stands still: one that answers other batches does not. */
  private watch(thread: BatchThread): void {
    if (thread.watch !== undefined) return
    const look = () => {
      thread.watch = undefined
      const [oldest] = thread.waiting.values()
      if (oldest === undefined) return
      const withinMs = this.isLarge(oldest.weight) ? LARGE_ANSWER_WITHIN_MS : ANSWER_WITHIN_MS
      const beganAtMs = Math.max(oldest.sinceMs, thread.repliedAtMs)
      if (this.monotonicMs() - beganAtMs >= withinMs) thread.worker.terminate()
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
