import type { Deps } from '../platform/deps.ts'
import { errorFacts } from '../platform/error-facts.ts'
import { randomBase62 } from '../platform/ids.ts'
import { BATCH_JOB } from './batches/batch.ts'
import { tellBatchEnded } from './batches/end-event.ts'
import type { JobHandler, JobKind } from './job.ts'
import { type JobCounts, JobRunner } from './runner.ts'
import { JobService } from './service.ts'
import { JobStore } from './store.ts'

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
export function openJobs(
  { db, guarded, clock, log }: Deps,
  kinds: Readonly<Record<string, JobKind>>,
): OpenJobs {
  const store = guarded(new JobStore(db, { [BATCH_JOB]: tellBatchEnded }))
  const runners: JobRunner[] = []
  const counts = new Map<string, JobCounts>()
  const wake = () => {
    for (const runner of runners) runner.periodic.wake()
  }
  return {
    counts,
    service: new JobService({ store, clock, onAdded: wake, kinds }),
    start: (handlers, place = null) => {
      const runner = new JobRunner({
        store,
        handlers,
        place,
        newRunner: () => randomBase62(RUNNER_CHARS),
        onFailed: (error, jobId) =>
          log.error({ ...(jobId !== null && { jobId }), err: errorFacts(error) }, 'a job failed'),
        onInterrupted: (error, jobId) =>
          log.warn({ jobId, err: errorFacts(error) }, 'a job was interrupted and will begin again'),
      })
      runners.push(runner)
      for (const [kind, ofKind] of runner.counts) counts.set(kind, ofKind)
      runner.periodic.start()
    },
    wake,
    close: async () => void (await Promise.all(runners.map((runner) => runner.periodic.close()))),
  }
}
