import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { teamRef } from './auth.ts'
import { idText, jsonText, moment } from './columns.ts'

/**
 * Files that are scored, each by the job with the same id. Written by `src/batches`: the position
 * moves in the transaction that puts a chunk into the score log, and only from the chunk that the
 * writer expects. Rows leave with their results, `BATCH_KEEP_DAYS` after the end of the job; the
 * row of the job leaves after them.
 */
export const batches = pgTable(
  'batches',
  {
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    /** A user or a key. */
    createdBy: idText('created_by').notNull(),
    deploymentId: idText('deployment_id').notNull(),
    environment: text('environment').notNull(),
    /** The one state of the deployment that scores the whole file. */
    state: jsonText('state').notNull(),
    options: jsonText('options').notNull(),
    inputKey: text('input_key').notNull(),
    inputBytes: bigint('input_bytes', { mode: 'number' }).notNull(),
    inputVersion: text('input_version').notNull(),
    /** Checksums of a file that was sent, of each MiB in turn. */
    inputSums: integer('input_sums').array().notNull().default(sql`'{}'`),
    /** True if the file was sent to the service. */
    isUpload: boolean('is_upload').notNull(),
    /** True if a file that was sent has been removed after the end of the job. */
    isInputRemoved: boolean('is_input_removed').notNull().default(false),
    folder: text('folder').notNull(),
    /** The store with the files: only processes that have it work on them. */
    place: text('place').notNull(),
    /** Bytes of the file that are done; of a Parquet file, rows. */
    offset: bigint('offset', { mode: 'number' }).notNull().default(0),
    lines: bigint('lines', { mode: 'number' }).notNull().default(0),
    chunks: integer('chunks').notNull().default(0),
    scored: bigint('scored', { mode: 'number' }).notNull().default(0),
    errors: bigint('errors', { mode: 'number' }).notNull().default(0),
    warned: bigint('warned', { mode: 'number' }).notNull().default(0),
    /** Values that match no bin, by feature. */
    unmatched: jsonText('unmatched').notNull().default({}),
    /** Numbers of the chunks that have a file of errors. */
    errorChunks: integer('error_chunks').array().notNull().default(sql`'{}'`),
    /** Checksums of the parts of the results, and of the files of errors. */
    resultSums: integer('result_sums').array().notNull().default(sql`'{}'`),
    errorSums: integer('error_sums').array().notNull().default(sql`'{}'`),
    resultBytes: bigint('result_bytes', { mode: 'number' }).notNull().default(0),
    unknownColumns: jsonText('unknown_columns').notNull().default({ names: [], more: 0 }),
    /** Request that the next chunk is in the log; null before the first chunk. */
    requestId: text('request_id'),
    /** Secret from which the ids of requests follow. */
    requestSeed: text('request_seed').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  (table) => [index('batches_team').on(table.teamId, table.id)],
)

/**
 * Work that takes longer than a request. Written by `src/jobs`; any replica takes a waiting job,
 * and one whose lease has run out. A row leaves a week after its job has ended.
 */
export const jobs = pgTable(
  'jobs',
  {
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    kind: text('kind').notNull(),
    /** `queued`, `running`, `done`, `failed` or `cancelled`. */
    status: text('status').notNull(),
    /** The order, as the kind defines it. */
    input: jsonText('input').notNull(),
    /** Null until the job is done. */
    result: jsonText('result'),
    /** Why it failed: a code and a message for the caller. */
    failure: jsonText('failure'),
    progressDone: bigint('progress_done', { mode: 'number' }).notNull(),
    progressTotal: bigint('progress_total', { mode: 'number' }).notNull(),
    /** Names the run that has the lease; null: none has it. */
    runner: text('runner'),
    /** Only a runner of this place takes it; null: any. */
    place: text('place'),
    /** The runner renews it; after that any replica may take the job. */
    leasedUntil: moment('leased_until'),
    /** Number of times that a run was begun; one that an outage interrupted does not count. */
    attempts: integer('attempts').notNull(),
    /** Number of times in a row that the database or a store was away during a run. */
    interruptions: integer('interruptions').notNull().default(0),
    /** Id of the user who started it. */
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull(),
    finishedAt: moment('finished_at'),
  },
  (table) => [
    index('jobs_open').on(table.teamId).where(sql`${table.finishedAt} is null`),
    index('jobs_finished').on(table.finishedAt),
  ],
)
