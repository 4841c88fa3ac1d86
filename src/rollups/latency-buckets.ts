import type { Counts } from './counts.ts'

/** Largest relative error of a latency that is read from its bucket. */
export const LATENCY_ERROR = 0.005
/** Each bucket ends at this many times the end of the one before. */
const GROWTH = (1 + LATENCY_ERROR) / (1 - LATENCY_ERROR)
export const LOG_GROWTH = Math.log(GROWTH)
/** A nanosecond: what is faster, and what a clock measured as nothing, counts as this. */
export const LATENCY_MS_MIN = 1e-6

/**
 * The bucket of a latency: `(GROWTH^(bucket-1), GROWTH^bucket]` milliseconds. So every latency of a
 * bucket is within `LATENCY_ERROR` of the one that stands for it, and counts of buckets can be added
 * up over any set of rows.
 *
 * @source C. Masson, J. E. Rim, H. K. Lee, DDSketch, PVLDB 12 (2019)
 */
export function latencyBucketOf(latencyMs: number): number {
  return Math.ceil(Math.log(Math.max(latencyMs, LATENCY_MS_MIN)) / LOG_GROWTH)
}

/**
 * A percentile of the latencies that were counted, interpolated between neighbours as `percentile_cont`
 * of PostgreSQL does, and within `LATENCY_ERROR` of what that gives.
 *
 * @param share 0..1, 0.95 for the 95th percentile
 * @returns milliseconds; null when nothing was counted
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

/** The latency that stands for the one at a rank, from 0. */
function latencyAt(rising: readonly (readonly [number, number])[], rank: number): number {
  let before = 0
  for (const [bucket, times] of rising) {
    before += times
    if (rank < before) return (2 * GROWTH ** bucket) / (GROWTH + 1)
  }
  throw new RangeError('the rank is beyond the latencies that were counted')
}
