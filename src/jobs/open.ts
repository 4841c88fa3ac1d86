import type { Logger } from 'pino'
import type { AuditAction } from '../audit/record.ts'
import type { Clock } from '../platform/clock.ts'
import { randomBase62 } from '../platform/ids/base62.ts'
import type { JobHandler } from './job.ts'
import { type JobCounts, JobRunner, type JobRunStore } from './runner.ts'
import { JobService, type JobStore } from './service.ts'

interface JobsOptions {
  readonly store: JobStore & JobRunStore
  readonly clock: Clock
  readonly log: Logger
  /** The facts of an error that may appear in the service's log. */
  readonly factsOf: (error: unknown) => object
  /** What the audit log calls the end of a job by its kind; others leave no record. */
  readonly cancelActions?: Readonly<Record<string, AuditAction>>
}

/** Jobs of this process. */
export interface OpenJobs {
  readonly service: JobService
  /** By the kinds of jobs that were started. */
  readonly counts: ReadonlyMap<string, JobCounts>
  /**
   * Begins to run jobs of these kinds, one at a time. Kinds that are started apart run beside each
   * other.
   *
   * @param place its jobs are taken, too; null: only those of no place
   */
  start(handlers: Readonly<Record<string, JobHandler>>, place?: string | null): void
  /** To be called after a job was added elsewhere than through the service. */
  wake(): void
  close(): Promise<void>
}

const RUNNER_CHARS = 16

/** Makes the service of jobs; its runners wait for `start`. */
export function openJobs({ store, clock, log, factsOf, cancelActions }: JobsOptions): OpenJobs {
  const runners: JobRunner[] = []
  const counts = new Map<string, JobCounts>()
  const wake = () => {
    for (const runner of runners) runner.wake()
  }
  return {
    counts,
    service: new JobService({
      store,
      clock,
      onAdded: wake,
      ...(cancelActions && { cancelActions }),
    }),
    start: (handlers, place = null) => {
      const runner = new JobRunner({
        store,
        handlers,
        place,
        newRunner: () => randomBase62(RUNNER_CHARS),
        onFailed: (error, jobId) =>
          log.error({ ...(jobId !== null && { jobId }), err: factsOf(error) }, 'a job failed'),
        onInterrupted: (error, jobId) =>
          log.warn({ jobId, err: factsOf(error) }, 'a job was interrupted and will begin again'),
      })
      runners.push(runner)
      for (const [kind, ofKind] of runner.counts) counts.set(kind, ofKind)
      runner.start()
    },
    wake,
    close: async () => void (await Promise.all(runners.map((runner) => runner.close()))),
  }
}
