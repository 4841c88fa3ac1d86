import { AppError } from '../errors.ts'
import {
  ANALYST_ROLES,
  type Caller,
  ROLES,
  type Role,
  type UserCaller,
} from '../http/access/caller.ts'
import { type Actor, auditRecord } from '../identity/audit/record.ts'
import type { Clock } from '../platform/clock.ts'
import { isId, newId } from '../platform/ids.ts'
import type { Job, JobKind } from './job.ts'
import type { JobStore } from './store.ts'

/** Open jobs of a team: those that wait or run. */
export const OPEN_JOBS_MAX = 10

interface JobServiceOptions {
  readonly store: JobStore
  readonly clock: Clock
  /** Called after a job was added, so that a runner in this process takes it at once. */
  readonly onAdded: () => void
  /** Kinds that are not named leave no record when they start, and any analyst may end them. */
  readonly kinds: Readonly<Record<string, JobKind>>
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
   * @param by `about`: what the audit log says of it; `place`: only runners there take it
   * @throws AppError `unavailable` if the team has too many open jobs
   */
  async start(
    actor: Actor,
    kind: string,
    input: object,
    { about, place }: { readonly about: object; readonly place?: string },
  ): Promise<Job> {
    const { store, clock, kinds, onAdded } = this.options
    const nowMs = clock.epochMs()
    const id = newId('job_', nowMs)
    const createdAt = new Date(nowMs)
    const { userId: createdBy, teamId } = actor
    const job = { id, teamId, kind, input, createdBy, createdAt, ...(place && { place }) }
    const action = kinds[kind]?.started ?? null
    const change = action && { action, subject: id, after: about }
    const audit = change && auditRecord({ userId: createdBy, teamId }, change, nowMs)
    if (!(await store.add(job, OPEN_JOBS_MAX, audit))) {
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
   * The job, if the caller's role is one that its kind asks for.
   *
   * @throws AppError `job_not_found`, `insufficient_role`
   */
  async getAs(caller: UserCaller, jobId: string): Promise<Job> {
    const job = await this.get(caller, jobId)
    requireRole(caller, this.options.kinds[job.kind]?.readers ?? ROLES)
    return job
  }

  /**
   * Cancels a job, if the caller's role is one that its kind asks for.
   *
   * @throws AppError `job_not_found`, `insufficient_role`
   */
  async cancelAs(caller: UserCaller, jobId: string): Promise<Job> {
    const { kind } = await this.get(caller, jobId)
    requireRole(caller, this.options.kinds[kind]?.cancellers ?? ANALYST_ROLES)
    return this.cancel(caller, jobId)
  }

  /**
   * Cancels a job that waits or runs; a job that has ended stays as it is.
   *
   * @throws AppError `job_not_found`
   */
  async cancel(caller: Canceller, jobId: string): Promise<Job> {
    const { kind } = await this.get(caller, jobId)
    const { store, clock, kinds } = this.options
    const action = kinds[kind]?.cancelled ?? 'job.cancel'
    const { userId, teamId } = caller
    const audit = auditRecord({ userId, teamId }, { action, subject: jobId }, clock.epochMs())
    const job = await store.cancel(teamId, jobId, audit)
    if (job === null) throw jobNotFound()
    return job
  }
}

function requireRole({ role }: UserCaller, roles: readonly Role[]): void {
  if (roles.includes(role)) return
  throw new AppError('insufficient_role', `this kind of job needs the role ${roles.join(' or ')}`)
}

/** The one who ends a job: a user, or the id of a key. */
type Canceller = Pick<Actor, 'teamId' | 'userId'>

function jobNotFound(): AppError {
  return new AppError('job_not_found', 'there is no such job, or it ended more than a week ago')
}
