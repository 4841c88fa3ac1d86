import type { Logger } from 'pino'
import type { Clock } from '../platform/clock.ts'
import { randomBase62 } from '../platform/ids/base62.ts'
import type { JobHandler } from './job.ts'
import { JobRunner, type JobRunStore } from './runner.ts'
import { JobService, type JobStore } from './service.ts'

interface JobsOptions {
  readonly store: JobStore & JobRunStore
  readonly clock: Clock
  readonly log: Logger
  /** The facts of an error that may appear in the service's log. */
  readonly factsOf: (error: unknown) => object
}

/** Jobs of this process. */
export interface OpenJobs {
  readonly service: JobService
  /** Begins to run jobs of these kinds. */
  start(handlers: Readonly<Record<string, JobHandler>>): void
  close(): Promise<void>
}

const RUNNER_CHARS = 16

/** Makes the service of jobs; its runner waits for `start`. */
export function openJobs({ store, clock, log, factsOf }: JobsOptions): OpenJobs {
  let runner: JobRunner | null = null
  return {
    service: new JobService({ store, clock, onAdded: () => runner?.wake() }),
    start: (handlers) => {
      runner = new JobRunner({
        store,
        handlers,
        newRunner: () => randomBase62(RUNNER_CHARS),
        onFailed: (error, jobId) =>
          log.error({ ...(jobId !== null && { jobId }), err: factsOf(error) }, 'a job failed'),
        onInterrupted: (error, jobId) =>
          log.warn({ jobId, err: factsOf(error) }, 'a job was interrupted and will begin again'),
      })
      runner.start()
    },
    close: async () => runner?.close(),
  }
}
