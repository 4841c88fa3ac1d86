import { PERCENTILE_ERROR_MAX } from '../../../schemas/stats-precision.ts'
import type { Counts } from './counts.ts'

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
