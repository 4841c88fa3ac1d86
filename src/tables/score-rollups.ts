import { sql } from 'drizzle-orm'
import { check, doublePrecision, index, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { idText, jsonText, moment } from './columns.ts'

/**
 * Sums of the served results of a deployment within a minute, hour or day. Written by the upkeep of
 * blocks from their `score_sums`, read by the statistics, and deleted with the log's partitions.
 */
export const scoreRollups = pgTable(
  'score_rollups',
  {
    deploymentId: idText('deployment_id').notNull(),
    span: text('span').notNull(),
    startsAt: moment('starts_at').notNull(),
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
      columns: [table.deploymentId, table.span, table.startsAt],
    }),
    // Finds what retention deletes.
    index('score_rollups_starts_at').on(table.startsAt),
    check('score_rollups_span', sql`${table.span} in ('minute', 'hour', 'day')`),
  ],
)
