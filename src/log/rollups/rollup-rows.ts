import { sql } from 'drizzle-orm'
import { epochMs } from '../../platform/db/moments.ts'
import { readCounts } from './buckets.ts'
import type { Rollup } from './rollup.ts'

/** A row of the rollups as `ROLLUP_COLUMNS` reads it, the same from both drivers. */
export interface RollupRow {
  readonly deployment_id: string
  readonly span: string
  readonly starts_at_ms: number
  readonly request_count: number
  readonly result_count: number
  readonly score_avg: number
  readonly score_min: number
  readonly score_max: number
  readonly pd_avg: number
  readonly latency_avg_ms: number
  readonly last_request_at_ms: number
  readonly score_buckets: string
  readonly latency_buckets: string
}

export const ROLLUP_COLUMNS = sql`deployment_id, span, ${epochMs(sql`starts_at`)} as starts_at_ms,
  request_count, result_count, score_avg, score_min, score_max, pd_avg, latency_avg_ms,
  ${epochMs(sql`last_request_at`)} as last_request_at_ms,
  score_buckets::text as score_buckets, latency_buckets::text as latency_buckets`

export function rollupOfRow(row: RollupRow): Rollup {
  return {
    requestCount: row.request_count,
    resultCount: row.result_count,
    scoreAvg: row.score_avg,
    scoreMin: row.score_min,
    scoreMax: row.score_max,
    pdAvg: row.pd_avg,
    latencyAvgMs: row.latency_avg_ms,
    lastRequestAtMs: row.last_request_at_ms,
    // The service wrote these itself, and they hold only numbers: plain `JSON.parse` is safe.
    scoreBuckets: readCounts(JSON.parse(row.score_buckets)),
    latencyBuckets: readCounts(JSON.parse(row.latency_buckets)),
  }
}
