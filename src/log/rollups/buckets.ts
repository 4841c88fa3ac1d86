import { PERCENTILE_ERROR_MAX, SCORE_BUCKET_WIDTH } from '../../../schemas/stats-precision.ts'

/**
 * Scores this far from 0 share the outermost buckets. Any score is legal: without a bound, a card
 * could give each applicant a bucket of its own.
 */
const EDGE = 1_000_000
export const SCORE_BUCKET_MAX = EDGE / SCORE_BUCKET_WIDTH
export const SCORE_BUCKET_MIN = -EDGE / SCORE_BUCKET_WIDTH - 1

/**
 * The bucket of a score: `[width × bucket, width × (bucket + 1))`, except for the outermost two.
 */
export function findScoreBucket(score: number): number {
  const bucket = Math.floor(score / SCORE_BUCKET_WIDTH)
  return Math.max(SCORE_BUCKET_MIN, Math.min(SCORE_BUCKET_MAX, bucket))
}

/**
 * Name of a bucket: `600-700` includes 600 and excludes 700; the outermost end at an `Infinity`.
 */
export function scoreBucketLabel(bucket: number): string {
  const low = bucket <= SCORE_BUCKET_MIN ? Number.NEGATIVE_INFINITY : bucket * SCORE_BUCKET_WIDTH
  const high =
    bucket >= SCORE_BUCKET_MAX ? Number.POSITIVE_INFINITY : (bucket + 1) * SCORE_BUCKET_WIDTH
  return `${low}-${high}`
}

/** The counts by label, from the lowest bucket to the highest. */
export function labelledScoreBuckets(counts: Counts): Record<string, number> {
  const rising = [...counts].sort(([a], [b]) => a - b)
  return Object.fromEntries(rising.map(([bucket, times]) => [scoreBucketLabel(bucket), times]))
}

/**
 * Largest relative error of a latency that is read from its bucket: half of what callers are
 * promised.
 */
const LATENCY_ERROR = PERCENTILE_ERROR_MAX / 2
/** Each bucket ends at this many times the end of the one before. */
const GROWTH = (1 + LATENCY_ERROR) / (1 - LATENCY_ERROR)
const LOG_GROWTH = Math.log(GROWTH)
/** A nanosecond. Shorter latencies, and those that the clock measures as 0, count as this. */
const LATENCY_MS_MIN = 1e-6

/**
 * The bucket of a latency: `(GROWTH^(bucket-1), GROWTH^bucket]` milliseconds. Every latency of a
 * bucket is within `LATENCY_ERROR` of the value that represents the bucket, and counts of buckets
 * can be added up over any set of rows.
 *
 * @source C. Masson, J. E. Rim, H. K. Lee, DDSketch, PVLDB 12 (2019)
 */
export function findLatencyBucket(latencyMs: number): number {
  return Math.ceil(Math.log(Math.max(latencyMs, LATENCY_MS_MIN)) / LOG_GROWTH)
}

/**
 * A percentile of the counted latencies. It interpolates between neighbours as `percentile_cont` of
 * PostgreSQL does, and is within `LATENCY_ERROR` of its result.
 *
 * @param share 0..1, 0.95 for the 95th percentile
 * @returns milliseconds; null when the counts are empty
 */
export function latencyPercentileMs(counts: Counts, share: number): number | null {
  const rising = [...counts].sort(([a], [b]) => a - b)
  const total = rising.reduce((sum, [, times]) => sum + times, 0)
  if (total === 0) return null
  const rank = share * (total - 1)
  const below = latencyAt(rising, Math.floor(rank))
  const above = latencyAt(rising, Math.ceil(rank))
  return below + (above - below) * (rank - Math.floor(rank))
}

/** The value that represents the bucket of the latency at a rank, counted from 0. */
function latencyAt(rising: readonly (readonly [number, number])[], rank: number): number {
  let before = 0
  for (const [bucket, times] of rising) {
    before += times
    if (rank < before) return (2 * GROWTH ** bucket) / (GROWTH + 1)
  }
  throw new RangeError('the rank is beyond the counted latencies')
}

/** Number of values in each bucket, by the bucket's integer. */
export type Counts = Map<number, number>

/** Adds `times` to one bucket. */
export function count(counts: Counts, bucket: number, times: number): void {
  counts.set(bucket, (counts.get(bucket) ?? 0) + times)
}

/** Adds all of `more` to `counts`. */
export function mergeCounts(counts: Counts, more: Counts): void {
  for (const [bucket, times] of more) count(counts, bucket, times)
}

/** Pairs of bucket and count in rising order, flattened: the stored form. */
export function flatCounts(counts: Counts): number[] {
  const flat: number[] = []
  for (const bucket of [...counts.keys()].sort((a, b) => a - b)) {
    flat.push(bucket, counts.get(bucket) ?? 0)
  }
  return flat
}

/** Reads the result of `flatCounts`. */
export function readCounts(flat: readonly number[]): Counts {
  const counts: Counts = new Map()
  for (let at = 0; at + 1 < flat.length; at += 2) counts.set(flat[at] ?? 0, flat[at + 1] ?? 0)
  return counts
}
