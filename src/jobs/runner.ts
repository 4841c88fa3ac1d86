import { setTimeout as delay } from 'node:timers/promises'
import { AppError, isAway } from '../errors.ts'
import { backOffMs } from '../platform/back-off.ts'
import { Periodic } from '../platform/periodic.ts'
import {
  type JobFailure,
  type JobHandler,
  type JobProgress,
  JobStopped,
  OperatorError,
  type TakenJob,
} from './job.ts'
import type { JobEnd, JobStore } from './store.ts'

/** Runs of one kind of job that this process has ended, by outcome. */
export interface JobCounts {
  done: number
  /** By a fault, for want of room on the disk, or after too long an outage. */
  failed: number
  /** By what the caller asked for, as with a file that can't be read, or a team without room. */
  refused: number
  /** To begin again, as the database or a store was away. */
  interrupted: number
  /** Cancelled, or taken by another replica. */
  lost: number
  /** Cancelled by the service, because the sender or the deployment is no more. */
  stopped: number
}

interface JobRunnerOptions {
  readonly store: JobStore
  readonly handlers: Readonly<Record<string, JobHandler>>
  readonly newRunner: () => string
  /** Its jobs are taken beside those of no place; absent: none. */
  readonly place?: string | null
  /** Receives what went wrong beside a job, and the errors that failed one. */
  readonly onFailed: (error: unknown, jobId: string | null) => void
  /** Receives what a job was interrupted by; another run begins after a pause. */
  readonly onInterrupted: (error: unknown, jobId: string) => void
  readonly timings?: Partial<JobTimings>
}

interface JobTimings {
  /** Interval at which a free runner looks for a job. */
  readonly pollMs: number
  /** After so long without a heartbeat another replica takes the job. */
  readonly leaseMs: number
  readonly heartbeatMs: number
  /** Time for which a job is left alone at first when its database or store was away. */
  readonly pauseMs: number
}

const TIMINGS: JobTimings = { pollMs: 2_000, leaseMs: 30_000, heartbeatMs: 3_000, pauseMs: 5_000 }
/** A job that ends its process each time must not go round forever. */
const ATTEMPTS_MAX = 5
/** Nor one that a store refuses each time: with a minute between them, these take most of a day. */
const INTERRUPTIONS_MAX = 1_000
const PAUSE_MS_MAX = 60_000
const KEPT_MS = 7 * 24 * 3_600_000
const CLEAN_EVERY_MS = 3_600_000

/**
 * Runs jobs, one at a time in each process.
 *
 * States: *waiting*, until a job is added or the next look; *running*, with a heartbeat that renews
 * the lease and stores the progress; *closed*, which gives a running job back. A job whose process
 * died starts again on another replica when its lease has run out, `ATTEMPTS_MAX` times at most. A
 * job that could not go on because the database or a store was away starts again after a pause:
 * only an outage of most of a day fails a job.
 */
export class JobRunner {
  private readonly options: JobRunnerOptions
  private readonly timings: JobTimings
  readonly periodic: Periodic
  private cleanedAtMs = Number.NEGATIVE_INFINITY
  /** By kind. */
  readonly counts: ReadonlyMap<string, JobCounts>

  constructor(options: JobRunnerOptions) {
    this.options = options
    this.timings = { ...TIMINGS, ...options.timings }
    this.counts = new Map(Object.keys(options.handlers).map((kind) => [kind, noCounts()]))
    this.periodic = new Periodic({
      round: () => this.runAll(),
      everyMs: this.timings.pollMs,
      // The health of the database logs that; it would be a line for each look.
      onFailed: (error) => isAway(error) || options.onFailed(error, null),
    })
  }

  private async runAll(): Promise<void> {
    const { store, handlers, newRunner, place = null } = this.options
    await this.clean()
    while (!this.ending.aborted) {
      const runner = newRunner()
      const kinds = Object.keys(handlers)
      const job = await store.take(kinds, runner, this.timings.leaseMs, place)
      if (job === null) return
      await this.run(job, runner)
    }
  }

  private get ending(): AbortSignal {
    return this.periodic.signal
  }

  private async clean(): Promise<void> {
    if (performance.now() - this.cleanedAtMs < CLEAN_EVERY_MS) return
    await this.options.store.removeOld(KEPT_MS)
    this.cleanedAtMs = performance.now()
  }

  private async run(job: TakenJob, runner: string): Promise<void> {
    const { store, onFailed } = this.options
    const counts = this.counts.get(job.kind) ?? noCounts()
    let progress: JobProgress = { done: 0, total: 0 }
    const lost = new AbortController()
    const signal = AbortSignal.any([lost.signal, this.ending])
    const heartbeat = setInterval(() => {
      store.renew(job.id, runner, this.timings.leaseMs, progress).then(
        (isOurs) => isOurs || lost.abort(),
        // The next one may come in time; and without a lease the run may still end.
        (error: unknown) => isAway(error) || onFailed(error, job.id),
      )
    }, this.timings.heartbeatMs).unref()
    const report = (now: JobProgress) => {
      progress = now
    }
    try {
      const result = await this.awaitResult(job, { teamId: job.teamId, signal, report })
      signal.throwIfAborted()
      await this.finish(job.id, runner, { status: 'done', result, progress })
      counts.done++
    } catch (error) {
      if (this.ending.aborted) await store.release(job.id, runner)
      else if (lost.signal.aborted) counts.lost++
      else if (error instanceof JobStopped) {
        counts.stopped++
        const { failure, audit } = error
        await this.finish(job.id, runner, { status: 'cancelled', failure, progress, audit })
      } else if (isAway(error) && job.interruptions < INTERRUPTIONS_MAX) {
        counts.interrupted++
        this.options.onInterrupted(error, job.id)
        await this.postpone(job, runner)
      } else {
        counts[isOfCaller(error) ? 'refused' : 'failed']++
        onFailed(error, job.id)
        await this.finish(job.id, runner, {
          status: 'failed',
          failure: classifyFailure(error),
          progress,
        })
      }
    } finally {
      clearInterval(heartbeat)
    }
  }

  /** Without the database the lease runs out instead. */
  private async postpone({ id, interruptions }: TakenJob, runner: string): Promise<void> {
    const pauses = { minMs: this.timings.pauseMs, maxMs: PAUSE_MS_MAX }
    const pauseMs = backOffMs(pauses, interruptions)
    try {
      await this.options.store.postpone(id, runner, pauseMs)
    } catch (error) {
      if (!isAway(error)) throw error
    }
  }

  /**
   * Stores how a job ended. While the database is away it tries again for as long as a lease: a
   * result can be the work of an hour. The run's name keeps a late end from a job that another run
   * has taken.
   *
   * @throws AppError `unavailable` after that
   */
  private async finish(jobId: string, runner: string, end: JobEnd): Promise<void> {
    const { leaseMs, heartbeatMs } = this.timings
    const untilMs = performance.now() + leaseMs
    for (;;) {
      try {
        return await this.options.store.finish(jobId, runner, end)
      } catch (error) {
        if (!isAway(error) || performance.now() >= untilMs) throw error
        await delay(heartbeatMs, undefined, { signal: this.ending, ref: false })
      }
    }
  }

  private awaitResult(job: TakenJob, run: Parameters<JobHandler>[1]): Promise<object> {
    const handler = this.options.handlers[job.kind]
    if (handler === undefined) throw new TypeError(`no handler runs jobs of the kind ${job.kind}`)
    if (job.attempts > ATTEMPTS_MAX) {
      throw new AppError(
        'internal_error',
        `the job was begun ${ATTEMPTS_MAX} times and never ended`,
      )
    }
    return handler(job.input, run)
  }
}

/** Tells whether the job failed by what its caller asked for, or by what their team has. */
function isOfCaller(error: unknown): boolean {
  if (error instanceof OperatorError) return false
  return error instanceof AppError && !OF_SERVICE.has(error.code)
}

const OF_SERVICE: ReadonlySet<string> = new Set(['internal_error', 'unavailable'])

function noCounts(): JobCounts {
  return { done: 0, failed: 0, refused: 0, interrupted: 0, lost: 0, stopped: 0 }
}

function classifyFailure(error: unknown): JobFailure {
  if (error instanceof AppError) return { code: error.code, message: error.message }
  return { code: 'internal_error', message: 'the job failed for an unknown reason' }
}
