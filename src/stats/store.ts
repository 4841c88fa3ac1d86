import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Environment } from '../auth/caller.ts'
import { type Database, rowsOf } from '../db/client.ts'
import { deployments } from '../db/tables/deployments.ts'
import { parseJson } from '../json.ts'
import { readCounts } from '../scorelog/counts.ts'
import { LATENCY_MS_MIN, LOG_GROWTH } from '../scorelog/latency-buckets.ts'
import type { Rollup } from '../scorelog/rollup.ts'
import { epochMs, ROLLUP_COLUMNS, type RollupRow, rollupOfRow } from '../scorelog/rollup-rows.ts'
import { SCORE_BUCKET_MAX, SCORE_BUCKET_MIN } from '../scorelog/score-buckets.ts'
import type { Span, SpanStretch, Stretch } from '../scorelog/spans.ts'
import type { LoggedRequest } from './comparison.ts'
import type { RecentScore, SpanRollup, StatsStore } from './service.ts'

/** Counts as JSON: pairs of bucket and count. */
interface LogSummary {
  readonly requests: number
  readonly results: number
  /** Halved: a sum of shares of the largest scores may round to more than a number can be. */
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
  readonly latency_ms: number
  readonly scores: string
  readonly pds: string
  readonly grades: string
}

/** Statistics from the rollups and the log in PostgreSQL. */
export class PostgresStatsStore implements StatsStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async environmentOf(teamId: string, deploymentId: string): Promise<Environment | null> {
    const [row] = await this.db
      .select({ environment: deployments.environment })
      .from(deployments)
      .where(and(eq(deployments.teamId, teamId), eq(deployments.id, deploymentId)))
    // The table's check holds the environment to the two there are.
    return row === undefined ? null : (row.environment as Environment)
  }

  async rollups(deploymentId: string, spans: readonly SpanStretch[]): Promise<SpanRollup[]> {
    const parts = spans.map(
      ({ span, ...stretch }) => sql`(span = ${span} and ${within(sql`starts_at`, stretch)})`,
    )
    const rows = await rowsOf<RollupRow>(
      this.db,
      sql`select ${ROLLUP_COLUMNS} from score_rollups
        where deployment_id = ${deploymentId} and (${sql.join(parts, sql` or `)})`,
    )
    return rows.map((row) => ({
      span: row.span as Span,
      startsAtMs: row.starts_at_ms,
      rollup: rollupOfRow(row),
    }))
  }

  /** In the database, because a busy minute may hold a million results. */
  async rollupOfLog(deploymentId: string, stretches: readonly Stretch[]): Promise<Rollup | null> {
    const [row] = await rowsOf<LogSummary>(this.db, summaryOfLog(deploymentId, stretches))
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

  /** A query for each stretch, because each then reads its own partitions, backwards, up to the limit. */
  async recent(
    deploymentId: string,
    stretches: readonly Stretch[],
    limit: number,
  ): Promise<RecentScore[]> {
    const last = (column: SQL) =>
      sql`array_to_json(${column}[greatest(1, cardinality(${column}) - ${sql.raw(String(limit - 1))}):])::text`
    const parts = stretches.map(
      (stretch) => sql`(select request_id, ${epochMs(sql`scored_at`)} as scored_at_ms, latency_ms,
          ${last(sql`served_scores`)} as scores, ${last(sql`served_pds`)} as pds,
          served_grades::text as grades
        from score_log
        where deployment_id = ${deploymentId} and ${within(sql`scored_at`, stretch)}
          and cardinality(served_scores) > 0
        order by scored_at desc, request_id desc limit ${limit})`,
    )
    const rows = await rowsOf<RecentRow>(this.db, sql.join(parts, sql` union all `))
    return rows.sort(newestFirst).flatMap(resultsOfRow).slice(0, limit)
  }

  /** Counts applicants before it reads their results, which may be large. */
  async newestRequests(
    deploymentId: string,
    stretches: readonly Stretch[],
    applicantsMax: number,
  ): Promise<LoggedRequest[]> {
    const parts = stretches.map(
      (stretch) => sql`(select request_id, scored_at, latency_ms, served_model_id, results,
          cardinality(served_scores) as size
        from score_log
        where deployment_id = ${deploymentId} and ${within(sql`scored_at`, stretch)}
          and cardinality(served_scores) > 0
        order by scored_at desc, request_id desc limit ${applicantsMax})`,
    )
    const rows = await rowsOf<RequestRow>(
      this.db,
      sql`with newest as (
          select *, sum(size) over (order by scored_at desc, request_id desc) - size as newer
          from (${sql.join(parts, sql` union all `)}) as requests
        )
        select request_id, ${epochMs(sql`scored_at`)} as scored_at_ms, latency_ms, served_model_id,
          results::text as results
        from newest where newer < ${applicantsMax}`,
    )
    return rows.sort(newestFirst).map((row) => ({
      scoredAtMs: row.scored_at_ms,
      latencyMs: row.latency_ms,
      servedModelId: row.served_model_id,
      resultsText: row.results,
    }))
  }
}

/** A request of the log, its results as the text that was stored. */
interface RequestRow {
  readonly request_id: string
  readonly scored_at_ms: number
  readonly latency_ms: number
  readonly served_model_id: string
  readonly results: string
}

/**
 * Sums are sums of shares, which can't exceed the largest number as a sum of scores can; what is too small
 * for its share to be a number counts as 0.
 */
function summaryOfLog(deploymentId: string, stretches: readonly Stretch[]): SQL {
  const parts = stretches.map((stretch) => within(sql`scored_at`, stretch))
  const notTiny = (column: string) =>
    sql.raw(`(case when abs(${column}) < 1e-290 then 0 else ${column} end)`)
  const latencyBucket = sql.raw(`ceil(ln(greatest(latency_ms, ${LATENCY_MS_MIN})) / ${LOG_GROWTH})`)
  const [lowest, highest] = [SCORE_BUCKET_MIN, SCORE_BUCKET_MAX].map((b) => sql.raw(`${b}`))
  const pairsOf = (table: string) =>
    sql.raw(`(select json_agg(json_build_array(bucket::integer, times))::text from ${table})`)
  return sql`with requests as (
      select scored_at, latency_ms, served_scores, served_pds,
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
      select least(greatest(floor(plain_score / 100), ${lowest}), ${highest}) as bucket,
        count(*) as times
      from served group by 1
    ), latencies as (
      select sum(latency_ms * (size / results)) as latency_avg_ms,
        ${epochMs(sql`max(scored_at)`)} as last_request_at_ms
      from requests, total
    ), latency_buckets as (
      select ${latencyBucket} as bucket, sum(size) as times from requests group by 1
    )
    select total.*, scores.*, latencies.*, ${pairsOf('score_buckets')} as score_buckets,
      ${pairsOf('latency_buckets')} as latency_buckets
    from total, scores, latencies where requests > 0`
}

function within(column: SQL, { fromMs, toMs }: Stretch): SQL {
  return sql`${column} >= ${momentText(fromMs)} and ${column} < ${momentText(toMs)}`
}

function momentText(epochMs: number): string {
  if (Number.isFinite(epochMs)) return new Date(epochMs).toISOString()
  return epochMs < 0 ? '-infinity' : 'infinity'
}

function newestFirst(
  one: Pick<RecentRow, 'scored_at_ms' | 'request_id'>,
  other: Pick<RecentRow, 'scored_at_ms' | 'request_id'>,
): number {
  return other.scored_at_ms - one.scored_at_ms || (one.request_id < other.request_id ? 1 : -1)
}

/** The last of a batch first. */
function resultsOfRow(row: RecentRow): RecentScore[] {
  const scores: number[] = JSON.parse(row.scores)
  const pds: number[] = JSON.parse(row.pds)
  // The names of others.
  const grades = (parseJson(row.grades) as (string | null)[]).slice(-scores.length)
  return scores
    .map((score, index) => ({
      requestId: row.request_id,
      score,
      grade: grades[index] ?? null,
      pd: pds[index] ?? 0,
      latencyMs: row.latency_ms,
      scoredAtMs: row.scored_at_ms,
    }))
    .reverse()
}
