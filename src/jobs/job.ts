import { AppError, type ErrorCode } from '../errors.ts'
import type { Role } from '../http/access/caller.ts'
import type { AuditAction, NewAuditRecord } from '../identity/audit/record.ts'

export type JobStatus = 'queued' | 'running' | 'done' | 'failed' | 'cancelled'

/** A kind of job as callers see it. */
export interface JobKind {
  /** The audit log's name of its start; null where whoever adds it writes the record. */
  readonly started: AuditAction | null
  /** The audit log's name of its end by a caller. */
  readonly cancelled: AuditAction
  /** Roles that may see it, where not every member may. */
  readonly readers?: readonly Role[]
  /** Roles that may end it. */
  readonly cancellers: readonly Role[]
}

/** Work that takes longer than a request. */
export interface Job {
  readonly id: string
  readonly teamId: string
  /** Which handler runs it. */
  readonly kind: string
  readonly status: JobStatus
  readonly progress: JobProgress
  readonly createdAt: Date
  readonly finishedAt: Date | null
  /** Null until the job is done. */
  readonly result: unknown
  /** Why it failed, else null. */
  readonly failure: JobFailure | null
}

export interface JobProgress {
  readonly done: number
  /** 0 until it is known. */
  readonly total: number
}

/** Why the service itself cancels a job. */
export type StopCode = 'key_revoked' | 'deployment_inactive'

export interface JobFailure {
  readonly code: ErrorCode | StopCode
  readonly message: string
}

/** Ends a job as cancelled: nobody may want its work any more. */
export class JobStopped extends Error {
  readonly failure: JobFailure
  readonly audit: NewAuditRecord

  constructor(failure: JobFailure, audit: NewAuditRecord) {
    super(failure.message)
    this.name = 'JobStopped'
    this.failure = failure
    this.audit = audit
  }
}

/** A failure that only the operator can mend, although its code could be the caller's fault. */
export class OperatorError extends AppError {}

export interface NewJob {
  readonly id: string
  readonly teamId: string
  readonly kind: string
  /** The input of the kind's handler. */
  readonly input: object
  readonly createdBy: string
  /** Only runners of this place take it; absent: any. */
  readonly place?: string
  readonly createdAt: Date
}

export interface TakenJob {
  readonly id: string
  readonly teamId: string
  readonly kind: string
  readonly input: unknown
  /** Number of times that a run was begun, this one included. */
  readonly attempts: number
  /** Number of times in a row that the database or a store was away during a run. */
  readonly interruptions: number
}

/** Things that a handler gets beside its input. */
export interface JobRun {
  readonly teamId: string
  /** Aborted when the job is cancelled, or another replica has it, or the process ends. */
  readonly signal: AbortSignal
  /** Notes how far the job is; it is stored with the next heartbeat. */
  report(progress: JobProgress): void
}

/**
 * Runs the jobs of one kind. A run can be repeated: it changes nothing else, or it notes in the
 * same transaction how far it is.
 */
export type JobHandler = (input: unknown, run: JobRun) => Promise<object>

export function jobFields({
  id,
  kind,
  status,
  progress,
  createdAt,
  finishedAt,
  result,
  failure,
}: Job) {
  return {
    id,
    kind,
    status,
    progress: { done: progress.done, total: progress.total },
    created_at: createdAt.toISOString(),
    finished_at: finishedAt?.toISOString() ?? null,
    result: result ?? null,
    ...(failure !== null && { error: failure.code, message: failure.message }),
  }
}
