import { AppError, type ErrorCode } from '../errors.ts'

export type JobStatus = 'queued' | 'running' | 'done' | 'failed' | 'cancelled'

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

export interface JobFailure {
  readonly code: ErrorCode
  readonly message: string
}

/** A failure that only the operator can mend, although its code could be the caller's fault. */
export class OperatorError extends AppError {}

export interface NewJob {
  readonly id: string
  readonly teamId: string
  readonly kind: string
  /** What the handler of the kind reads. */
  readonly input: object
  readonly createdBy: string
  /** Only runners of this place take it; absent: any. */
  readonly place?: string
  readonly createdAt: Date
}

/** A job that a runner has taken. */
export interface TakenJob {
  readonly id: string
  readonly teamId: string
  readonly kind: string
  readonly input: unknown
  /** How often a run was begun, this one included. */
  readonly attempts: number
  /** How often in a row the database or a store was away during a run. */
  readonly interruptions: number
}

/** What a handler gets beside its input. */
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
