import { type SQL, sql } from 'drizzle-orm'
import type { Environment } from '../../http/access/caller.ts'
import type { NewAuditRecord } from '../../identity/audit/record.ts'
import { insertAuditRecord } from '../../identity/audit/writer.ts'
import {
  ErasuresMovedError,
  insertBlocks,
  NEWEST_ERASURE,
  newestErasure,
} from '../../log/database.ts'
import type { DrainedBlock } from '../../log/index.ts'
import { askedRow, askTwice } from '../../platform/db/asked-rows.ts'
import {
  type Database,
  DatabaseStore,
  epochMs,
  queryRows,
  type Transaction,
} from '../../platform/db/client.ts'
import { parseStoredJson } from '../../platform/json.ts'
import { makePage, type Page, type PageRequest, rowsToRead } from '../../platform/paging.ts'
import type { DeploymentState } from '../../scoring/serving.ts'
import type { JobFailure, JobStatus, StopCode } from '../job.ts'
import { OPEN_JOBS_MAX } from '../service.ts'
import { insertJob } from '../store.ts'
import {
  BATCH_JOB,
  type Batch,
  type BatchOptions,
  type BatchStep,
  type BatchWait,
  type NewBatch,
  type UnknownColumns,
} from './batch.ts'
import type { ErasedReference } from './process-messages.ts'

export interface NumberedErasure extends ErasedReference {
  readonly number: number
}

export interface EndedBatch {
  readonly batch: Batch
  /** True if its results are no longer kept. */
  readonly isOver: boolean
}

/** Which batches a look begins with. */
export interface EndedQuery {
  readonly place: string
  readonly keptMs: number
  /** The same for files that were sent. */
  readonly inputKeptMs: number
  /** Only batches after this one, in the order of their ids; null: from the first one on. */
  readonly afterId: string | null
  readonly limit: number
}

interface BatchRow {
  readonly id: string
  readonly team_id: string
  readonly created_by: string
  readonly state: string
  readonly options: string
  readonly input_key: string
  readonly input_bytes: number
  readonly input_version: string
  readonly is_upload: boolean
  readonly folder: string
  readonly place: string
  readonly at: number
  readonly lines: number
  readonly chunks: number
  readonly scored: number
  readonly errors: number
  readonly warned: number
  readonly unmatched: string
  readonly error_chunks: string
  readonly result_sums: string
  readonly error_sums: string
  readonly result_bytes: number
  readonly unknown_columns: string
  readonly request_id: string | null
  readonly request_seed: string
  readonly created_ms: number
  readonly status: JobStatus
  readonly waits_for: BatchWait | null
  readonly done: number
  readonly total: number
  readonly finished_ms: number | null
  readonly failure: string | null
}

const COLUMNS = sql`b.id, b.team_id, b.created_by, b.state::text as state,
  b.options::text as options, b.input_key, b.input_bytes::float8 as input_bytes, b.input_version,
  b.is_upload, b.folder, b.place, b."offset"::float8 as at, b.lines::float8 as lines, b.chunks,
  b.scored::float8 as scored, b.errors::float8 as errors, b.warned::float8 as warned,
  b.unmatched::text as unmatched,
  array_to_json(b.error_chunks)::text as error_chunks,
  array_to_json(b.result_sums)::text as result_sums,
  array_to_json(b.error_sums)::text as error_sums, b.result_bytes::float8 as result_bytes,
  b.unknown_columns::text as unknown_columns, b.request_id, b.request_seed,
  ${epochMs(sql`b.created_at`)} as created_ms, j.status,
  case
    when j.finished_at is not null or j.runner is not null then null
    when j.interruptions > 0 then 'interruption'
    else 'turn'
  end as waits_for, j.progress_done::float8 as done,
  j.progress_total::float8 as total, ${epochMs(sql`j.finished_at`)} as finished_ms,
  j.failure::text as failure`

/** Bytes that a team's batches take in the store. */
const STORED_BYTES = sql`coalesce(sum(result_bytes
  + case when is_upload and not is_input_removed then input_bytes else 0 end), 0)::float8`

/** Batches in PostgreSQL, with the states of their jobs. */
export class BatchStore extends DatabaseStore {
  /**
   * Adds a batch with its job.
   *
   * @param inputSums of the file, if it was sent, by `SUMMED_BYTES`
   * @returns false if the team has too many open jobs
   */
  async add(
    batch: NewBatch,
    audit: NewAuditRecord,
    inputSums: readonly number[] = [],
  ): Promise<boolean> {
    const { id, sender, state, options, input, folder, place, requestSeed, createdAt } = batch
    return this.db.transaction(async (tx) => {
      const job = { id, teamId: sender.teamId, kind: BATCH_JOB, input: { batch_id: id } }
      const order = { ...job, createdBy: sender.by, createdAt, place }
      if (!(await insertJob(tx, order, OPEN_JOBS_MAX))) return false
      await tx.execute(sql`insert into batches (id, team_id, created_by, deployment_id,
          environment, state, options, input_key, input_bytes, input_version, input_sums, is_upload,
          folder, place, request_seed, created_at)
        values (${id}, ${sender.teamId}, ${sender.by}, ${state.deploymentId},
          ${state.environment}, ${JSON.stringify(state)}::text::json,
          ${JSON.stringify(options)}::text::json, ${input.key}, ${input.bytes}, ${input.version},
          ${`{${inputSums.join()}}`}::text::integer[], ${input.isUpload}, ${folder}, ${place}, ${requestSeed},
          ${createdAt.toISOString()}::timestamptz)`)
      await insertAuditRecord(tx, audit)
      return true
    })
  }

  async storedBytes(teamId: string): Promise<number> {
    const [row] = await queryRows<{ bytes: number }>(
      this.db,
      sql`select ${STORED_BYTES} as bytes from batches where team_id = ${teamId}`,
    )
    return row?.bytes ?? 0
  }

  find(batchId: string): Promise<Batch | null> {
    return findBatch(this.db, batchId)
  }

  /** Newest first; those of one environment, or of both. */
  async ofTeam(
    teamId: string,
    environment: Environment | null,
    page: PageRequest,
  ): Promise<Page<Batch>> {
    const visible = environment === null ? sql`true` : sql`b.environment = ${environment}`
    const after = page.cursor === undefined ? sql`true` : sql`b.id < ${page.cursor}`
    const rows = await readRows(
      this.db,
      sql`b.team_id = ${teamId} and ${visible} and ${after}`,
      sql`order by b.id desc limit ${rowsToRead(page)}`,
    )
    return makePage(rows.map(readBatch), page)
  }

  read(batchId: string): Promise<Batch | null> {
    return askTwice(this.db, (db) => findBatch(db, batchId))
  }

  /** Checksums of the file of a batch, if it was sent, by `SUMMED_BYTES`. */
  async inputSums(batchId: string): Promise<readonly number[]> {
    return askTwice(this.db, async (db) => {
      const rows = await queryRows<{ id: string; sums: string }>(
        db,
        sql`select id, array_to_json(input_sums)::text as sums from batches where id = ${batchId}`,
      )
      const row = askedRow(rows, ({ id }) => id === batchId)
      return row === null ? null : (parseStoredJson(row.sums) as number[])
    }).then((sums) => sums ?? [])
  }

  /** Tells whether there is no such batch; it asks twice, since its file is removed then. */
  async isGone(batchId: string): Promise<boolean> {
    return (await askTwice(this.db, (db) => findBatch(db, batchId))) === null
  }

  /** Why no further chunk may be scored; null: nothing forbids it. */
  async stopCode(batchId: string): Promise<StopCode | null> {
    const [row] = await queryRows<{ code: StopCode | null }>(
      this.db,
      sql`select case
          when exists (select 1 from api_keys k where k.id = b.created_by and k.revoked_at is not null)
            or exists (select 1 from service_accounts s
              where s.id = b.created_by and s.revoked_at is not null) then 'key_revoked'
          when not d.is_active then 'deployment_inactive'
        end as code
        from batches b join deployments d on d.id = b.deployment_id where b.id = ${batchId}`,
    )
    return row?.code ?? null
  }

  /** The number of the newest erasure of all teams; 0 without any. */
  async newestErasure(): Promise<number> {
    const [row] = await queryRows<{ newest: number }>(
      this.db,
      sql`select ${NEWEST_ERASURE} as newest`,
    )
    return row?.newest ?? 0
  }

  /** Erasures of a team after the one of this number, in the order of their numbers. */
  async erasedAfter(teamId: string, number: number, limit: number): Promise<NumberedErasure[]> {
    const rows = await queryRows<{ number: number; hash: string; until_ms: number }>(
      this.db,
      sql`select number::float8 as number, reference_hash as hash,
          ${epochMs(sql`covers_until`)} as until_ms
        from log_erasures where team_id = ${teamId} and number > ${number}
        order by number limit ${limit}`,
    )
    return rows.map(({ until_ms: untilMs, ...erased }) => ({ ...erased, untilMs }))
  }

  /**
   * Puts a chunk into the score log and moves the batch over it, in one transaction.
   *
   * @param written made with this version of the list of erasures
   * @returns false without a change if it is not the chunk's turn, or the job has ended
   * @throws ErasuresMovedError
   */
  commit(
    step: BatchStep,
    { blocks, erasures }: { blocks: readonly DrainedBlock[]; erasures: number },
  ): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      // First: it makes the transaction wait for an attempt that was given up as overdue.
      if (!(await moveBatch(tx, step))) return false
      if ((await newestErasure(tx)) !== erasures) throw new ErasuresMovedError()
      await insertBlocks(tx, blocks)
      return true
    })
  }

  /** Batches of a place that have ended and whose upload or results are to be removed. */
  async ended({ place, keptMs, inputKeptMs, afterId, limit }: EndedQuery): Promise<EndedBatch[]> {
    const after = afterId === null ? sql`true` : sql`b.id > ${afterId}`
    const rows = await readRows(
      this.db,
      sql`b.place = ${place} and j.finished_at is not null and ${after}
        and ((b.is_upload and not b.is_input_removed and j.finished_at < ${beforeMs(inputKeptMs)})
          or j.finished_at < ${beforeMs(keptMs)})`,
      sql`order by b.id limit ${limit}`,
    )
    const [clock] = await queryRows<{ now_ms: number }>(
      this.db,
      sql`select ${epochMs(sql`now()`)} as now_ms`,
    )
    const untilMs = (clock?.now_ms ?? 0) - keptMs
    return rows.map((row) => ({
      batch: readBatch(row),
      isOver: row.finished_ms !== null && row.finished_ms < untilMs,
    }))
  }

  async noteInputRemoved(batchId: string): Promise<void> {
    await this.db.execute(sql`update batches set is_input_removed = true where id = ${batchId}`)
  }

  async remove(batchId: string): Promise<void> {
    await this.db.execute(sql`delete from batches where id = ${batchId}`)
  }
}

function readRows(db: Database, condition: SQL, rest: SQL): Promise<BatchRow[]> {
  return queryRows<BatchRow>(
    db,
    sql`select ${COLUMNS} from batches b join jobs j on j.id = b.id where ${condition} ${rest}`,
  )
}

async function findBatch(db: Database, batchId: string): Promise<Batch | null> {
  const row = askedRow(
    await readRows(db, sql`b.id = ${batchId}`, sql``),
    ({ id }) => id === batchId,
  )
  return row === null ? null : readBatch(row)
}

/**
 * Moves a batch over a chunk, if it is the chunk's turn and the job still runs. A job that comes
 * this far is not one that ends its process each time.
 */
async function moveBatch(tx: Transaction, step: BatchStep): Promise<boolean> {
  const { batchId, chunk, requestId, nextRequestId, position, counts, errorSum, bytes } = step
  const moved = await queryRows<{ begun: number }>(
    tx,
    sql`update batches b set chunks = chunks + 1, request_id = ${nextRequestId},
        "offset" = ${position.offset}, lines = ${position.line}, scored = ${counts.scored},
        errors = ${counts.errors}, warned = ${counts.warned},
        unmatched = ${JSON.stringify(counts.unmatched)}::text::json,
        result_bytes = result_bytes + ${bytes},
        result_sums = array_append(result_sums, ${step.resultSum}::integer),
        ${errorSum === null ? sql`` : addedErrors(chunk, errorSum)}
        unknown_columns = ${JSON.stringify(step.unknownColumns)}::text::json
      from jobs j
      where b.id = ${batchId} and b.chunks = ${chunk}
        and coalesce(b.request_id, ${requestId}) = ${requestId}
        and j.id = b.id and j.status = 'running'
      returning j.attempts + j.interruptions as begun`,
  )
  const [row] = moved
  if (row === undefined) return false
  if (row.begun > 1) {
    await tx.execute(sql`update jobs set attempts = 1, interruptions = 0 where id = ${batchId}`)
  }
  return true
}

function addedErrors(chunk: number, sum: number): SQL {
  return sql`error_chunks = array_append(error_chunks, ${chunk}::integer),
    error_sums = array_append(error_sums, ${sum}::integer),`
}

function beforeMs(ms: number): SQL {
  return sql`now() - ${ms}::float8 * interval '1 millisecond'`
}

/** Returns what `add` and `commit` have written. */
function readBatch(row: BatchRow): Batch {
  const state = parseStoredJson(row.state) as DeploymentState
  return {
    id: row.id,
    sender: { teamId: row.team_id, environment: state.environment, by: row.created_by },
    state,
    options: parseStoredJson(row.options) as BatchOptions,
    input: {
      key: row.input_key,
      bytes: row.input_bytes,
      version: row.input_version,
      isUpload: row.is_upload,
    },
    folder: row.folder,
    place: row.place,
    createdAt: new Date(row.created_ms),
    status: row.status,
    waitsFor: row.waits_for,
    progress: { done: row.done, total: row.total },
    finishedAt: row.finished_ms === null ? null : new Date(row.finished_ms),
    failure: row.failure === null ? null : (parseStoredJson(row.failure) as JobFailure),
    position: { offset: row.at, line: row.lines },
    counts: {
      scored: row.scored,
      errors: row.errors,
      warned: row.warned,
      unmatched: parseStoredJson(row.unmatched) as Record<string, number>,
    },
    chunks: row.chunks,
    errorChunks: parseStoredJson(row.error_chunks) as number[],
    resultSums: parseStoredJson(row.result_sums) as number[],
    errorSums: parseStoredJson(row.error_sums) as number[],
    resultBytes: row.result_bytes,
    unknownColumns: parseStoredJson(row.unknown_columns) as UnknownColumns,
    requestId: row.request_id,
    requestSeed: row.request_seed,
  }
}
