import { and, eq, type SQL, sql } from 'drizzle-orm'
import { SCORE_BUCKET_WIDTH } from '../../schemas/stats-precision.ts'
import type { Environment } from '../access/caller.ts'
import { type Database, rowsOf } from '../platform/db/client.ts'
import { parseStoredJson } from '../platform/json.ts'
import { readCounts } from '../rollups/counts.ts'
import { LATENCY_MS_MIN, LOG_GROWTH } from '../rollups/latency-buckets.ts'
import type { Rollup } from '../rollups/rollup.ts'
import {
  epochMs,
  momentText,
  ROLLUP_COLUMNS,
  type RollupRow,
  rollupOfRow,
} from '../rollups/rollup-rows.ts'
import { SCORE_BUCKET_MAX, SCORE_BUCKET_MIN } from '../rollups/score-buckets.ts'
import type { Span, SpanRange, TimeRange } from '../rollups/spans.ts'
import { rollupsOfSums, unsummedOf } from '../score-log/blocks/unsummed.ts'
import { deployments } from '../tables/deployments.ts'
import type { StoredStats } from './log-stats.ts'
import type { RecentScore, SpanRollup } from './service.ts'

/**
 * Sums over a part of the log; `score_buckets` and `latency_buckets` are JSON pairs of bucket and
 * count.
 */
interface LogSummary {
  readonly requests: number
  readonly results: number
  /** Half of the average: rounding could make the whole average of the largest scores overflow. */
  readonly half_score_avg: number
  readonly score_min: number
  readonly score_max: number
  readonly pd_avg: number
  readonly latency_avg_ms: number
  readonly last_request_at_ms: number
  readonly score_buckets: string
  readonly latency_buckets: string
}

interface RecentRow {
  readonly request_id: string
  readonly scored_at_ms: number
  readonly share_ms: number
  readonly scores: string
  readonly pds: string
  readonly grades: string
  /** JSON array; null outside of a batch. */
  readonly record_ids: string | null
}

/** Statistics from the rollups, and from the rows of the first form, in PostgreSQL. */
export class PostgresStatsStore implements StoredStats {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async environmentOf(teamId: string, deploymentId: string): Promise<Environment | null> {
    const [row] = await this.db
      .select({ environment: deployments.environment })
      .from(deployments)
      .where(and(eq(deployments.teamId, teamId), eq(deployments.id, deploymentId)))
    return row?.environment ?? null
  }

  /** One statement: a block is either in the rollups, or its own sums are there. */
  async rollups(deploymentId: string, spans: readonly SpanRange[]): Promise<SpanRollup[]> {
    const parts = spans.map(
      ({ span, ...range }) => sql`(span = ${span} and ${within(sql`starts_at`, range)})`,
    )
    const rows = await rowsOf<RollupRow | { readonly sums: Uint8Array }>(
      this.db,
      sql`select ${ROLLUP_COLUMNS}, null::bytea as sums from score_rollups
        where deployment_id = ${deploymentId} and (${sql.join(parts, sql` or `)})
        union all
        select ${ROLLUP_NULLS}, sums from score_sums where ${unsummedOf(deploymentId, spans)}`,
    )
    const sums = rows.flatMap((row) => ('sums' in row && row.sums !== null ? [row.sums] : []))
    const summed = rows.flatMap((row) => ('span' in row && row.span !== null ? [row] : []))
    return [
      ...summed.map((row) => ({
        span: row.span as Span,
        startsAtMs: row.starts_at_ms,
        rollup: rollupOfRow(row),
      })),
      ...rollupsOfSums(sums, deploymentId, spans),
    ]
  }

  /** Computed in the database, because a busy minute can hold a million results. */
  async rollupOfRows(deploymentId: string, ranges: readonly TimeRange[]): Promise<Rollup | null> {
    const [row] = await rowsOf<LogSummary>(this.db, summaryOfLog(deploymentId, ranges))
    if (row === undefined) return null
    const countsOf = (pairs: string) => readCounts(JSON.parse(pairs).flat())
    return {
      requestCount: row.requests,
      resultCount: row.results,
      scoreAvg: Math.min(row.score_max, Math.max(row.score_min, 2 * row.half_score_avg)),
      scoreMin: row.score_min,
      scoreMax: row.score_max,
      pdAvg: row.pd_avg,
      latencyAvgMs: row.latency_avg_ms,
      lastRequestAtMs: row.last_request_at_ms,
      scoreBuckets: countsOf(row.score_buckets),
      latencyBuckets: countsOf(row.latency_buckets),
    }
  }

  /**
   * One query for each range: each reads its own partitions, backwards, up to the limit. Record ids
   * are read only for requests that hold the newest results, because a batch can be large.
   */
  async recentOfRows(
    deploymentId: string,
    ranges: readonly TimeRange[],
    limit: number,
  ): Promise<RecentScore[]> {
    const parts = ranges.map(
      (range) => sql`(select request_id, scored_at, latency_ms, is_batch, served_scores, served_pds,
          served_grades, results, cardinality(served_scores) as size
        from score_log
        where deployment_id = ${deploymentId} and ${within(sql`scored_at`, range)}
          and cardinality(served_scores) > 0
        order by scored_at desc, request_id desc limit ${limit})`,
    )
    const firstPosition = sql`greatest(1, size - ${sql.raw(String(limit - 1))})`
    const last = (column: SQL) => sql`array_to_json(${column}[${firstPosition}:])::text`
    const rows = await rowsOf<RecentRow>(
      this.db,
      sql`with newest as (
          select *, sum(size) over (order by scored_at desc, request_id desc) - size as newer
          from (${sql.join(parts, sql` union all `)}) as requests
        )
        select request_id, ${epochMs(sql`scored_at`)} as scored_at_ms, latency_ms / size as share_ms,
          ${last(sql`served_scores`)} as scores, ${last(sql`served_pds`)} as pds,
          served_grades::text as grades,
          case when is_batch then ${recordIdsFrom(firstPosition)} end as record_ids
        from newest where newer < ${limit}`,
    )
    return rows.sort(newestFirst).flatMap(resultsOfRow).slice(0, limit)
  }
}

/** The columns of a rollup, for a row that is none. */
const ROLLUP_NULLS = sql.raw(
  `null::text as deployment_id, null::text as span, ${Array.from({ length: 9 }, () => 'null::float8').join(', ')},
    null::text as score_buckets, null::text as latency_buckets`,
)

/**
 * Adds shares, x/n, because a sum of scores can overflow. PostgreSQL rejects a division that
 * underflows, so that values too small to be divided count as 0.
 */
function summaryOfLog(deploymentId: string, ranges: readonly TimeRange[]): SQL {
  const parts = ranges.map((range) => within(sql`scored_at`, range))
  const notTiny = (column: string) =>
    sql.raw(`(case when abs(${column}) < 1e-290 then 0 else ${column} end)`)
  const pairsOf = (table: string) =>
    sql.raw(`(select json_agg(json_build_array(bucket::integer, times))::text from ${table})`)
  return sql`with requests as (
      select scored_at, latency_ms / cardinality(served_scores) as share_ms, served_scores, served_pds,
        cardinality(served_scores)::float8 as size
      from score_log
      where deployment_id = ${deploymentId} and cardinality(served_scores) > 0
        and (${sql.join(parts, sql` or `)})
    ), total as (
      select count(*)::float8 as requests, sum(size) as results from requests
    ), served as (
      select score, ${notTiny('score')} as plain_score, ${notTiny('pd')} as plain_pd
      from requests, unnest(served_scores, served_pds) as served(score, pd)
    ), scores as (
      select sum(plain_score / results / 2) as half_score_avg, min(score) as score_min,
        max(score) as score_max, sum(plain_pd / results) as pd_avg
      from served, total
    ), score_buckets as (
      select least(greatest(floor(plain_score / ${SCORE_BUCKET_WIDTH}::float8),
          ${SCORE_BUCKET_MIN}::float8), ${SCORE_BUCKET_MAX}::float8) as bucket,
        count(*) as times
      from served group by 1
    ), latencies as (
      select sum(share_ms * (size / results)) as latency_avg_ms,
        ${epochMs(sql`max(scored_at)`)} as last_request_at_ms
      from requests, total
    ), latency_buckets as (
      select ceil(ln(greatest(share_ms, ${LATENCY_MS_MIN}::float8)) / ${LOG_GROWTH}::float8) as bucket,
        sum(size) as times
      from requests group by 1
    )
    select total.*, scores.*, latencies.*, ${pairsOf('score_buckets')} as score_buckets,
      ${pairsOf('latency_buckets')} as latency_buckets
    from total, scores, latencies where requests > 0`
}

/**
 * Ids of the records of a request from a position on, as JSON. Each is the first item of its row of
 * `results`.
 *
 * An id can be any text, including characters that PostgreSQL can't represent. PostgreSQL decodes
 * texts when it looks up a name or an index, but not when it splits an array. Therefore the array
 * is cut out by its position in the text and split twice. Only ids of the service precede it.
 */
function recordIdsFrom(firstPosition: SQL): SQL {
  const head = sql.raw(`'"results":'`)
  const text = sql`results::text`
  const rows = sql`rtrim(substr(${text}, strpos(${text}, ${head}) + length(${head})), '}')::json`
  const idOf = sql`(select item from json_array_elements(fields) as item limit 1)`
  return sql`(select json_agg(${idOf} order by place)::text
    from json_array_elements(${rows}) with ordinality as applicants(fields, place)
    where place >= ${firstPosition})`
}

function within(column: SQL, { fromMs, toMs }: TimeRange): SQL {
  return sql`${column} >= ${momentText(fromMs)} and ${column} < ${momentText(toMs)}`
}

function newestFirst(
  one: Pick<RecentRow, 'scored_at_ms' | 'request_id'>,
  other: Pick<RecentRow, 'scored_at_ms' | 'request_id'>,
): number {
  return other.scored_at_ms - one.scored_at_ms || (one.request_id < other.request_id ? 1 : -1)
}

/** The results of one request, the last of a batch first. */
function resultsOfRow(row: RecentRow): RecentScore[] {
  const scores: number[] = JSON.parse(row.scores)
  // PostgreSQL writes NaN as a text in JSON.
  const pds: (number | 'NaN')[] = JSON.parse(row.pds)
  const ids =
    row.record_ids === null ? [] : (parseStoredJson(row.record_ids) as RecentScore['recordId'][])
  // Callers choose the names of grades: they are `parseStoredJson` reads texts that can't be
  // trusted.
  const grades = (parseStoredJson(row.grades) as (string | null)[]).slice(-scores.length)
  return scores
    .map((score, index) => ({
      requestId: row.request_id,
      recordId: ids[index] ?? null,
      score,
      grade: grades[index] ?? null,
      pd: pds[index] === 'NaN' ? null : (pds[index] ?? 0),
      latencyMs: row.share_ms,
      scoredAtMs: row.scored_at_ms,
    }))
    .reverse()
}
