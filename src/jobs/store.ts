import { type SQL, sql } from 'drizzle-orm'
import type { NewAuditRecord } from '../identity/audit/record.ts'
import { insertAuditRecord } from '../identity/audit/writer.ts'
import { askedRow } from '../platform/db/asked-rows.ts'
import { type Database, queryRows, type Transaction } from '../platform/db/client.ts'
import { parseStoredJson } from '../platform/json.ts'
import type { Job, JobFailure, JobProgress, JobStatus, NewJob, TakenJob } from './job.ts'

export type JobEnd =
  | { readonly status: 'done'; readonly result: object; readonly progress: JobProgress }
  | { readonly status: 'failed'; readonly failure: JobFailure; readonly progress: JobProgress }
  | {
      readonly status: 'cancelled'
      readonly failure: JobFailure
      readonly progress: JobProgress
      readonly audit: NewAuditRecord
    }

interface JobRow {
  readonly id: string
  readonly team_id: string
  readonly kind: string
  readonly status: JobStatus
  readonly done: number
  readonly total: number
  readonly created_ms: number
  readonly finished_ms: number | null
  readonly result: string | null
  readonly failure: string | null
}

const COLUMNS = sql`id, team_id, kind, status, progress_done::float8 as done,
  progress_total::float8 as total,
  (extract(epoch from created_at) * 1000)::float8 as created_ms,
  (extract(epoch from finished_at) * 1000)::float8 as finished_ms,
  result::text as result, failure::text as failure`

/** Further work in the transaction that ends a job. */
type OnJobEnd = (tx: Transaction, jobId: string) => Promise<void>

/** Jobs in PostgreSQL. Leases are on the database's clock, which all replicas share. */
export class JobStore {
  private readonly db: Database
  private readonly onEnd: Readonly<Record<string, OnJobEnd>>

  /** @param onEnd by the kind of the job */
  constructor(db: Database, onEnd: Readonly<Record<string, OnJobEnd>> = {}) {
    this.db = db
    this.onEnd = onEnd
  }

  /** @returns false if the team has `openMax` open jobs; then nothing is added */
  add(job: NewJob, openMax: number, audit: NewAuditRecord | null = null): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      if (!(await insertJob(tx, job, openMax))) return false
      if (audit !== null) await insertAuditRecord(tx, audit)
      return true
    })
  }

  async find(teamId: string, jobId: string): Promise<Job | null> {
    const rows = await queryRows<JobRow>(
      this.db,
      sql`select ${COLUMNS} from jobs where id = ${jobId} and team_id = ${teamId}`,
    )
    return readJob(rows)
  }

  /**
   * Ends the job if it is open, with the record.
   * @returns the job as it is then, or null
   */
  async cancel(
    teamId: string,
    jobId: string,
    audit: NewAuditRecord | null = null,
  ): Promise<Job | null> {
    await this.db.transaction(async (tx) => {
      const cancelled = await queryRows<{ kind: string }>(
        tx,
        sql`update jobs
          set status = 'cancelled', finished_at = now(), runner = null, leased_until = null,
            input = '{}'
          where id = ${jobId} and team_id = ${teamId} and finished_at is null
          returning kind`,
      )
      if (audit !== null && cancelled.length > 0) await insertAuditRecord(tx, audit)
      await this.tell(tx, jobId, cancelled)
    })
    return this.find(teamId, jobId)
  }

  /**
   * Takes the oldest job that waits, or whose lease has run out, of the team that has the fewest
   * running jobs.
   *
   * @param runner unique for each run
   * @param place where the runner is: it also takes jobs of this place
   */
  async take(
    kinds: readonly string[],
    runner: string,
    leaseMs: number,
    place: string | null = null,
  ): Promise<TakenJob | null> {
    const taken = await queryRows<{
      id: string
      team_id: string
      runner: string
      kind: string
      input: string
      attempts: number
      interruptions: number
    }>(
      this.db,
      sql`update jobs set status = 'running', runner = ${runner}, attempts = attempts + 1,
          leased_until = ${inMs(leaseMs)}
        where id = (
          select id from jobs as waiting
          where finished_at is null and (status = 'queued' or leased_until < now())
            and (place is null or place = ${place}::text)
            and kind in (${sql.join(
              kinds.map((kind) => sql`${kind}`),
              sql`, `,
            )})
          order by (select count(*) from jobs as busy where busy.team_id = waiting.team_id
              and busy.status = 'running' and busy.leased_until >= now()),
            (select max(done.finished_at) from jobs as done
              where done.team_id = waiting.team_id and done.attempts > 0) nulls first, id
          limit 1 for update skip locked
        )
        returning id, team_id, runner, kind, input::text as input, attempts, interruptions`,
    )
    const row = askedRow(taken, (one) => one.runner === runner)
    if (row === null) return null
    const { id, team_id, kind, input, attempts, interruptions } = row
    return { id, teamId: team_id, kind, input: parseStoredJson(input), attempts, interruptions }
  }

  /**
   * Renews the lease.
   * @returns false if the run has lost it, as by a cancellation
   */
  async renew(
    jobId: string,
    runner: string,
    leaseMs: number,
    { done, total }: JobProgress,
  ): Promise<boolean> {
    const renewed = await queryRows(
      this.db,
      sql`update jobs set leased_until = ${inMs(leaseMs)}, progress_done = ${done},
          progress_total = ${total}
        where id = ${jobId} and runner = ${runner} and status = 'running' returning 1`,
    )
    return renewed.length > 0
  }

  /** Ends the job, unless the run has lost its lease. */
  async finish(jobId: string, runner: string, end: JobEnd): Promise<void> {
    const result = end.status === 'done' ? JSON.stringify(end.result) : null
    const failure = end.status === 'done' ? null : JSON.stringify(end.failure)
    await this.db.transaction(async (tx) => {
      const ended = await queryRows<{ kind: string }>(
        tx,
        sql`update jobs set status = ${end.status}, finished_at = now(),
        runner = null, leased_until = null, input = '{}',
        progress_done = ${end.progress.done},
        progress_total = ${end.progress.total}, result = ${result}::text::json,
        failure = ${failure}::text::json
      where id = ${jobId} and runner = ${runner} and status = 'running' returning kind`,
      )
      if (end.status === 'cancelled' && ended.length > 0) await insertAuditRecord(tx, end.audit)
      await this.tell(tx, jobId, ended)
    })
  }

  private async tell(
    tx: Transaction,
    jobId: string,
    [ended]: readonly { kind: string }[],
  ): Promise<void> {
    if (ended !== undefined) await this.onEnd[ended.kind]?.(tx, jobId)
  }

  /** Gives the job back, so that another replica takes it at once. */
  async release(jobId: string, runner: string): Promise<void> {
    await this.db.execute(sql`update jobs set status = 'queued', runner = null,
        leased_until = null, attempts = attempts - 1
      where id = ${jobId} and runner = ${runner} and status = 'running'`)
  }

  /** Leaves the job to any replica after a pause, as if this run had not begun. */
  async postpone(jobId: string, runner: string, pauseMs: number): Promise<void> {
    await this.db.execute(sql`update jobs set runner = null, attempts = attempts - 1,
        interruptions = interruptions + 1, leased_until = ${inMs(pauseMs)}
      where id = ${jobId} and runner = ${runner} and status = 'running'`)
  }

  async removeOld(keptMs: number): Promise<void> {
    // The job of a batch is kept with its results.
    await this.db.execute(sql`delete from jobs where finished_at < ${inMs(-keptMs)}
      and not exists (select 1 from batches where batches.id = jobs.id)`)
  }
}

function inMs(ms: number): SQL {
  return sql`now() + ${ms}::float8 * interval '1 millisecond'`
}

function readJob([row]: readonly JobRow[]): Job | null {
  if (row === undefined) return null
  return {
    id: row.id,
    teamId: row.team_id,
    kind: row.kind,
    status: row.status,
    progress: { done: row.done, total: row.total },
    createdAt: new Date(row.created_ms),
    finishedAt: row.finished_ms === null ? null : new Date(row.finished_ms),
    result: row.result === null ? null : parseStoredJson(row.result),
    failure:
      row.failure === null
        ? null
        : // Written by `finish`.
          (parseStoredJson(row.failure) as JobFailure),
  }
}

/** Jobs of a team that have ended: beyond it the oldest leave before their week is over. */
const KEPT_MAX = 1_000

/**
 * Adds a job in the caller's transaction. Its input is kept until its end.
 *
 * @returns false if the team has `openMax` open jobs; then nothing is added
 */
export async function insertJob(tx: Transaction, job: NewJob, openMax: number): Promise<boolean> {
  const { id, teamId, kind, input, createdBy, createdAt, place = null } = job
  // Two requests at one time must not both find the last free place.
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${teamId}, 2))`)
  await tx.execute(sql`delete from jobs where id in (
      select id from jobs where team_id = ${teamId} and finished_at is not null
        and not exists (select 1 from batches where batches.id = jobs.id)
      order by finished_at desc offset ${KEPT_MAX}::integer
    )`)
  const added = await queryRows(
    tx,
    sql`insert into jobs (id, team_id, kind, status, input, progress_done, progress_total,
        attempts, created_by, created_at, place)
      select ${id}, ${teamId}, ${kind}, 'queued', ${JSON.stringify(input)}::text::json, 0, 0, 0,
        ${createdBy}, ${createdAt.toISOString()}::timestamptz, ${place}::text
      where (select count(*) from jobs where team_id = ${teamId} and finished_at is null)
        < ${openMax}::integer
      returning 1`,
  )
  return added.length > 0
}
