import { sql } from 'drizzle-orm'
import { epochMs } from '../../platform/db/client.ts'
import {
  type Counts,
  count,
  findLatencyBucket,
  findScoreBucket,
  mergeCounts,
  readCounts,
} from './buckets.ts'

/** Sums over served results, one for each applicant, of at least one applicant. */
export interface Rollup {
  requestCount: number
  resultCount: number
  /** Averages rather than sums: a sum of legal scores may exceed the largest number. */
  scoreAvg: number
  scoreMin: number
  scoreMax: number
  /** NaN where one of the results has no probability of default. */
  pdAvg: number
  /** Average over results, each with its share of the request's latency, see `latencyShareMs`. */
  latencyAvgMs: number
  lastRequestAtMs: number
  readonly scoreBuckets: Counts
  readonly latencyBuckets: Counts
}

/** The results of a request that a rollup sums up. */
export interface ServedResults {
  readonly scoredAtMs: number
  /** Latency of the whole request. */
  readonly latencyMs: number
  /** One for each applicant, at least one. */
  readonly scores: readonly number[]
  /** NaN where the model has no scale. */
  readonly pds: readonly number[]
}

/**
 * Latency of one applicant: the request's latency divided by its applicants. With the whole latency
 * for each, one batch of 1,000 would outweigh 999 single scores in every average and percentile.
 *
 * @param latencyMs latency of the whole request
 * @param applicants at least one
 */
export function latencyShareMs(latencyMs: number, applicants: number): number {
  return latencyMs / applicants
}

export function makeRollup(served: ServedResults): Rollup {
  const rollup = { ...computeSums(served), scoreBuckets: new Map(), latencyBuckets: new Map() }
  countRequest(rollup, served)
  return rollup
}

/**
 * Adds a request to `rollup`. Merging the request's own rollup gives the same, at a higher cost.
 */
export function addRequest(rollup: Rollup, served: ServedResults): void {
  mergeSums(rollup, computeSums(served))
  countRequest(rollup, served)
}

/** Adds `more` to `rollup`. The order of merges does not matter. */
export function mergeRollup(rollup: Rollup, more: Rollup): void {
  mergeSums(rollup, more)
  mergeCounts(rollup.scoreBuckets, more.scoreBuckets)
  mergeCounts(rollup.latencyBuckets, more.latencyBuckets)
}

type Sums = Omit<Rollup, 'scoreBuckets' | 'latencyBuckets'>

function computeSums({ scoredAtMs, latencyMs, scores, pds }: ServedResults): Sums {
  let scoreMin = Number.POSITIVE_INFINITY
  let scoreMax = Number.NEGATIVE_INFINITY
  for (const score of scores) {
    scoreMin = Math.min(scoreMin, score)
    scoreMax = Math.max(scoreMax, score)
  }
  return {
    requestCount: 1,
    resultCount: scores.length,
    scoreAvg: computeAverage(scores),
    scoreMin,
    scoreMax,
    pdAvg: computeAverage(pds),
    latencyAvgMs: latencyShareMs(latencyMs, scores.length),
    lastRequestAtMs: scoredAtMs,
  }
}

function countRequest(rollup: Rollup, { latencyMs, scores }: ServedResults): void {
  for (const score of scores) count(rollup.scoreBuckets, findScoreBucket(score), 1)
  const shareMs = latencyShareMs(latencyMs, scores.length)
  count(rollup.latencyBuckets, findLatencyBucket(shareMs), scores.length)
}

function mergeSums(rollup: Rollup, more: Sums): void {
  const total = rollup.resultCount + more.resultCount
  const share = rollup.resultCount / total
  const moreShare = more.resultCount / total
  const average = (one: number, other: number) => one * share + other * moreShare
  rollup.scoreMin = Math.min(rollup.scoreMin, more.scoreMin)
  rollup.scoreMax = Math.max(rollup.scoreMax, more.scoreMax)
  rollup.scoreAvg = within(rollup, average(rollup.scoreAvg, more.scoreAvg))
  rollup.pdAvg = average(rollup.pdAvg, more.pdAvg)
  rollup.latencyAvgMs = average(rollup.latencyAvgMs, more.latencyAvgMs)
  rollup.lastRequestAtMs = Math.max(rollup.lastRequestAtMs, more.lastRequestAtMs)
  rollup.requestCount += more.requestCount
  rollup.resultCount = total
}

/** The sum of several rollups; null for an empty list. */
export function mergedRollup(rollups: readonly Rollup[]): Rollup | null {
  const [first, ...others] = rollups
  if (first === undefined) return null
  const merged = copyRollup(first)
  for (const rollup of others) mergeRollup(merged, rollup)
  return merged
}

export function copyRollup(rollup: Rollup): Rollup {
  return {
    ...rollup,
    scoreBuckets: new Map(rollup.scoreBuckets),
    latencyBuckets: new Map(rollup.latencyBuckets),
  }
}

/** Keeps an average within the range of its scores: rounding can push it out. */
function within({ scoreMin, scoreMax }: Rollup, average: number): number {
  return Math.min(scoreMax, Math.max(scoreMin, average))
}

/** Average that divides before it adds where the sum overflows; exact enough for few values. */
function computeAverage(values: readonly number[]): number {
  const sum = values.reduce((total, value) => total + value, 0)
  if (Number.isFinite(sum)) return sum / values.length
  return values.reduce((total, value) => total + value / values.length, 0)
}

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
