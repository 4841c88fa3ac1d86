import type { Caller } from '../access/caller.ts'
import { type Actor, type AuditAction, auditRecord, type NewAuditRecord } from '../audit/record.ts'
import { AppError } from '../errors.ts'
import type { Clock } from '../platform/clock.ts'
import { isId, newId } from '../platform/ids/ids.ts'
import type { Job, NewJob } from './job.ts'

/** Open jobs of a team: those that wait or run. */
export const OPEN_JOBS_MAX = 10

/** What the service needs from the database. */
export interface JobStore {
  /** @returns false if the team has `openMax` open jobs; then nothing is added */
  add(job: NewJob, openMax: number): Promise<boolean>
  find(teamId: string, jobId: string): Promise<Job | null>
  /** Ends the job if it is open, with the record. @returns the job as it is then, or null */
  cancel(teamId: string, jobId: string, audit: NewAuditRecord | null): Promise<Job | null>
}

interface JobServiceOptions {
  readonly store: JobStore
  readonly clock: Clock
  /** Called after a job was added, so that a runner in this process takes it at once. */
  readonly onAdded: () => void
  /** What the audit log calls the end of a job by its kind; others leave no record. */
  readonly cancelActions?: Readonly<Record<string, AuditAction>>
}

/** Starts, shows and cancels jobs. */
export class JobService {
  private readonly options: JobServiceOptions

  constructor(options: JobServiceOptions) {
    this.options = options
  }

  /**
   * Adds a job, which a replica runs.
   *
   * @param input what the handler of the kind reads; kept as JSON
   * @throws AppError `unavailable` if the team has too many open jobs
   */
  async start({ userId, teamId }: Actor, kind: string, input: object): Promise<Job> {
    const { store, clock, onAdded } = this.options
    const nowMs = clock.epochMs()
    const id = newId('job_', nowMs)
    const createdAt = new Date(nowMs)
    const job = { id, teamId, kind, input, createdBy: userId, createdAt }
    if (!(await store.add(job, OPEN_JOBS_MAX))) {
      const text = `the team has ${OPEN_JOBS_MAX} jobs that wait or run: wait for one, or cancel one`
      throw new AppError('unavailable', text)
    }
    onAdded()
    return {
      id,
      teamId,
      kind,
      createdAt,
      status: 'queued',
      progress: { done: 0, total: 0 },
      finishedAt: null,
      result: null,
      failure: null,
    }
  }

  /** @throws AppError `job_not_found` */
  async get({ teamId }: Pick<Caller, 'teamId'>, jobId: string): Promise<Job> {
    const job = isId(jobId, 'job_') ? await this.options.store.find(teamId, jobId) : null
    if (job === null) throw jobNotFound()
    return job
  }

  /**
   * Cancels a job that waits or runs; a job that has ended stays as it is.
   *
   * @throws AppError `job_not_found`
   */
  async cancel(caller: Canceller, jobId: string): Promise<Job> {
    const { kind } = await this.get(caller, jobId)
    const { store, clock, cancelActions = {} } = this.options
    const action = cancelActions[kind]
    const { userId, teamId } = caller
    const audit =
      action === undefined
        ? null
        : auditRecord({ userId, teamId }, { action, subject: jobId }, clock.epochMs())
    const job = await store.cancel(teamId, jobId, audit)
    if (job === null) throw jobNotFound()
    return job
  }
}

/** Who ends a job: a user, or the id of a key. */
type Canceller = Pick<Actor, 'teamId' | 'userId'>

function jobNotFound(): AppError {
  return new AppError('job_not_found', 'there is no such job, or it ended more than a week ago')
}
