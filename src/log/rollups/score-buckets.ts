import { SCORE_BUCKET_WIDTH } from '../../../schemas/stats-precision.ts'
import type { Counts } from './counts.ts'

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
