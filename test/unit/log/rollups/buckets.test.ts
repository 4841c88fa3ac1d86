import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type Counts,
  count,
  findLatencyBucket,
  findScoreBucket,
  labelledScoreBuckets,
  latencyPercentileMs,
  SCORE_BUCKET_MAX,
  SCORE_BUCKET_MIN,
  scoreBucketLabel,
} from '../../../../src/log/rollups/buckets.ts'

// Both ends from both sides: a bucket holds its lower end and not its upper.
test.each([
  [600, '600-700'],
  [699.99, '600-700'],
  [700, '700-800'],
  [0, '0-100'],
  [-0, '0-100'],
  [-0.001, '-100-0'],
  [-100, '-100-0'],
  [-100.5, '-200--100'],
  [999_999, '999900-1000000'],
  [1_000_000, '1000000-Infinity'],
  [1e300, '1000000-Infinity'],
  [-1_000_000, '-1000000--999900'],
  [-1_000_001, '-Infinity--1000000'],
  [-Number.MAX_VALUE, '-Infinity--1000000'],
])('a score of %d counts in %s', (score, label) => {
  expect(scoreBucketLabel(findScoreBucket(score))).toBe(label)
})

// A card that gives each applicant another score would else fill the rollups.
test('any score has one of a bounded number of buckets', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (score) => {
      const bucket = findScoreBucket(score)
      expect(Number.isInteger(bucket)).toBe(true)
      expect(bucket).toBeGreaterThanOrEqual(SCORE_BUCKET_MIN)
      expect(bucket).toBeLessThanOrEqual(SCORE_BUCKET_MAX)
    }),
  )
})

test('labels go from the lowest scores to the highest', () => {
  const counts: Counts = new Map()
  for (const score of [650, -20, 610, -320, 20]) count(counts, findScoreBucket(score), 1)
  expect(Object.entries(labelledScoreBuckets(counts))).toEqual([
    ['-400--300', 1],
    ['-100-0', 1],
    ['0-100', 1],
    ['600-700', 2],
  ])
})

/** As `percentile_cont` of PostgreSQL. */
function exactPercentile(latencies: readonly number[], share: number): number {
  const rising = [...latencies].sort((a, b) => a - b)
  const rank = share * (rising.length - 1)
  const below = rising[Math.floor(rank)] ?? Number.NaN
  const above = rising[Math.ceil(rank)] ?? Number.NaN
  return below + (above - below) * (rank - Math.floor(rank))
}

// Callers are promised 1 percent; the buckets are half as wide.
test('a percentile is within half a percent of the exact one', () => {
  const latency = fc.double({ min: 1e-6, max: 1e9, noNaN: true })
  const latencies = fc.array(latency, { minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(latencies, fc.double({ min: 0, max: 1, noNaN: true }), (all, share) => {
      const counts: Counts = new Map()
      for (const one of all) count(counts, findLatencyBucket(one), 1)
      const exact = exactPercentile(all, share)
      const error = Math.abs((latencyPercentileMs(counts, share) ?? Number.NaN) - exact) / exact
      expect(error).toBeLessThanOrEqual(0.005 + 1e-9)
    }),
  )
})

test('the percentile of nothing is null, and a latency of 0 counts', () => {
  expect(latencyPercentileMs(new Map(), 0.95)).toBe(null)
  expect(latencyPercentileMs(new Map([[findLatencyBucket(0), 3]]), 0.95)).toBeLessThan(1.01e-6)
})
