import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  doublePrecision,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
} from 'drizzle-orm/pg-core'
import { idText, jsonText, moment } from './columns.ts'

/**
 * Every scoring request that was answered: one row for each, also for a batch. Written by the
 * drain; read by the statistics where rollups are too coarse, and by auditors. Partitioned by day,
 * which drizzle can't express (see `src/score-log/retention/partitions.ts` and the migration); rows
 * leave with their partition.
 *
 * It has no foreign keys: the drain must not fail because of a change in another table.
 */
export const scoreLog = pgTable(
  'score_log',
  {
    scoredAt: moment('scored_at').notNull(),
    requestId: idText('request_id').notNull(),
    teamId: idText('team_id').notNull(),
    deploymentId: idText('deployment_id').notNull(),
    keyId: idText('key_id').notNull(),
    cacheVersion: integer('cache_version').notNull(),
    /** Bucket of a live split. */
    bucket: integer('bucket'),
    latencyMs: doublePrecision('latency_ms').notNull(),
    isBatch: boolean('is_batch').notNull(),
    /** The model that answered. */
    servedModelId: idText('served_model_id').notNull(),
    /** What it answered, one item for each applicant. */
    servedScores: doublePrecision('served_scores').array().notNull(),
    servedPds: doublePrecision('served_pds').array().notNull(),
    /** JSON, because a grade may be any text that JSON can write. */
    servedGrades: jsonText('served_grades').notNull(),
    /** Every model's result for every applicant, see `RECORD_FIELDS`. */
    results: jsonText('results').notNull(),
  },
  (table) => [
    // A record gets its identity with its request, so that storing it again changes nothing.
    primaryKey({ name: 'score_log_identity', columns: [table.scoredAt, table.requestId] }),
    index('score_log_deployment').on(table.deploymentId, table.scoredAt),
  ],
)

/**
 * Sums of the served results of a deployment within a minute, hour or day. Written by the drain in
 * the transaction of the log rows that they sum up, read by the statistics, and deleted with the
 * log's partitions. Each draining process writes rows of its own, so that replicas never wait for
 * one another.
 */
export const scoreRollups = pgTable(
  'score_rollups',
  {
    deploymentId: idText('deployment_id').notNull(),
    span: text('span').notNull(),
    startsAt: moment('starts_at').notNull(),
    /** The process that drained. */
    writer: idText('writer').notNull(),
    requestCount: doublePrecision('request_count').notNull(),
    resultCount: doublePrecision('result_count').notNull(),
    // An average, because a sum of scores may be too large for its type.
    scoreAvg: doublePrecision('score_avg').notNull(),
    scoreMin: doublePrecision('score_min').notNull(),
    scoreMax: doublePrecision('score_max').notNull(),
    pdAvg: doublePrecision('pd_avg').notNull(),
    latencyAvgMs: doublePrecision('latency_avg_ms').notNull(),
    lastRequestAt: moment('last_request_at').notNull(),
    /** Pairs of bucket and count, one after the other, see `Counts`. */
    scoreBuckets: jsonText('score_buckets').notNull(),
    latencyBuckets: jsonText('latency_buckets').notNull(),
  },
  (table) => [
    primaryKey({
      name: 'score_rollups_identity',
      columns: [table.deploymentId, table.span, table.startsAt, table.writer],
    }),
    // Finds what retention deletes.
    index('score_rollups_starts_at').on(table.startsAt),
    check('score_rollups_span', sql`${table.span} in ('minute', 'hour', 'day')`),
  ],
)
