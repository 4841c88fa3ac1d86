import type { Counts } from './counts.ts'

/** Width of a bucket in points. */
const WIDTH = 100
/**
 * Scores this far from 0 share the outermost buckets. Any score is legal, and a card could else give each
 * applicant a bucket of its own.
 */
const EDGE = 1_000_000
export const SCORE_BUCKET_MAX = EDGE / WIDTH
export const SCORE_BUCKET_MIN = -EDGE / WIDTH - 1

/** The bucket of a score: `[100 × bucket, 100 × bucket + 100)`, but for the outermost two. */
export function scoreBucketOf(score: number): number {
  return Math.max(SCORE_BUCKET_MIN, Math.min(SCORE_BUCKET_MAX, Math.floor(score / WIDTH)))
}

/** Name of a bucket: `600-700` holds 600 and not 700; the outermost end at an `Infinity`. */
export function scoreBucketLabel(bucket: number): string {
  const low = bucket <= SCORE_BUCKET_MIN ? Number.NEGATIVE_INFINITY : bucket * WIDTH
  const high = bucket >= SCORE_BUCKET_MAX ? Number.POSITIVE_INFINITY : (bucket + 1) * WIDTH
  return `${low}-${high}`
}

/** The counts by label, from the lowest bucket to the highest. */
export function labelledScoreBuckets(counts: Counts): Record<string, number> {
  const rising = [...counts].sort(([a], [b]) => a - b)
  return Object.fromEntries(rising.map(([bucket, times]) => [scoreBucketLabel(bucket), times]))
}
