import fc from 'fast-check'
import { expect, test } from 'vitest'
import { flatCounts, readCounts } from '../../../../src/log/rollups/buckets.ts'
import { makeRollup, mergedRollup, type Rollup } from '../../../../src/log/rollups/rollup.ts'

const finite = fc.double({ noNaN: true, noDefaultInfinity: true })
const request = fc
  .record({
    scoredAtMs: fc.integer({ min: 0, max: 4e12 }),
    latencyMs: fc.double({ min: 0, max: 1e6, noNaN: true }),
    results: fc.array(
      fc.tuple(
        fc.oneof(finite, fc.double({ min: 0, max: 1000, noNaN: true })),
        fc.double({ min: 0, max: 1, noNaN: true }),
      ),
      {
        minLength: 1,
        maxLength: 20,
      },
    ),
  })
  .map(({ results, ...rest }) => ({
    ...rest,
    scores: results.map(([score]) => score),
    pds: results.map(([, pd]) => pd),
  }))
const requests = fc.array(request, { minLength: 1, maxLength: 20 })

/** Averages differ by their rounding only; all else is equal. */
function expectSame(one: Rollup | null, other: Rollup | null): void {
  if (one === null || other === null) throw new Error('there is nothing to compare')
  const { scoreAvg, pdAvg, latencyAvgMs, ...exact } = one
  const { scoreAvg: _s, pdAvg: _p, latencyAvgMs: _l, ...otherExact } = other
  expect({
    ...exact,
    scoreBuckets: flatCounts(exact.scoreBuckets),
    latencyBuckets: flatCounts(exact.latencyBuckets),
  }).toEqual({
    ...otherExact,
    scoreBuckets: flatCounts(otherExact.scoreBuckets),
    latencyBuckets: flatCounts(otherExact.latencyBuckets),
  })
  const magnitude = Math.max(Math.abs(one.scoreMin), Math.abs(one.scoreMax))
  expectClose(scoreAvg, other.scoreAvg, magnitude)
  expectClose(pdAvg, other.pdAvg, 1)
  expectClose(latencyAvgMs, other.latencyAvgMs, latencyAvgMs)
}

/**
 * 1e-13 of what was averaged: some hundred roundings of 53 bits. Doubles below 2e-308 have fewer
 * bits, so a division by the count rounds them by more of their size: 1e-300 lets that pass.
 */
function expectClose(one: number, other: number, magnitude: number): void {
  expect(Math.abs(one / 2 - other / 2)).toBeLessThanOrEqual(1e-13 * magnitude + 1e-300)
}

// Replicas, restarts and spans of time cut the same requests in many ways.
test('rollups merged in any grouping say what one over all requests says', () => {
  fc.assert(
    fc.property(requests, fc.nat(), (all, seed) => {
      const cut = seed % all.length
      const whole = mergedRollup(all.map(makeRollup))
      const parts = [all.slice(cut).reverse(), all.slice(0, cut)]
      const merged = mergedRollup(parts.flatMap((part) => mergedRollup(part.map(makeRollup)) ?? []))
      expectSame(merged, whole)
    }),
  )
})

test('a rollup says of requests what a naive recomputation says', () => {
  fc.assert(
    fc.property(requests, (all) => {
      const rollup = mergedRollup(all.map(makeRollup))
      const scores = all.flatMap((one) => one.scores)
      const latencies = all.flatMap((one) =>
        one.scores.map(() => one.latencyMs / one.scores.length),
      )
      expect(rollup?.requestCount).toBe(all.length)
      expect(rollup?.resultCount).toBe(scores.length)
      expect(rollup?.scoreMin).toBe(Math.min(...scores))
      expect(rollup?.scoreMax).toBe(Math.max(...scores))
      expect(rollup?.lastRequestAtMs).toBe(Math.max(...all.map((one) => one.scoredAtMs)))
      const magnitude = Math.max(...scores.map(Math.abs))
      const average = (values: number[]) => values.reduce((sum, v) => sum + v / values.length, 0)
      expectClose(rollup?.scoreAvg ?? Number.NaN, average(scores), magnitude)
      expectClose(rollup?.latencyAvgMs ?? Number.NaN, average(latencies), Math.max(...latencies))
      const pds = all.flatMap((one) => one.pds)
      expectClose(rollup?.pdAvg ?? Number.NaN, average(pds), 1)
    }),
  )
})

// A card may give any finite score; a sum of them may be more than a number can be.
test('averages of the largest scores are numbers, and within them', () => {
  const scores = [Number.MAX_VALUE, Number.MAX_VALUE, Number.MAX_VALUE]
  const one = makeRollup({ scoredAtMs: 0, latencyMs: 1, scores, pds: [0, 0, 0] })
  const other = makeRollup({ scoredAtMs: 0, latencyMs: 1, scores: [-Number.MAX_VALUE], pds: [0] })
  expect(mergedRollup([one, one])?.scoreAvg).toBe(Number.MAX_VALUE)
  expect(mergedRollup([one, one, other])?.scoreAvg).toBeCloseTo(Number.MAX_VALUE * (5 / 7), -300)
})

test('merging leaves what it merges as it was', () => {
  const one = makeRollup({ scoredAtMs: 0, latencyMs: 1, scores: [650], pds: [0] })
  mergedRollup([one, one, one])
  expect(one).toEqual(makeRollup({ scoredAtMs: 0, latencyMs: 1, scores: [650], pds: [0] }))
  expect(mergedRollup([])).toBe(null)
})

test('counts are stored in rising order and read as they were', () => {
  const counts = new Map([
    [7, 2],
    [-1, 3],
  ])
  expect(flatCounts(counts)).toEqual([-1, 3, 7, 2])
  expect(readCounts([-1, 3, 7, 2])).toEqual(counts)
  expect(readCounts([])).toEqual(new Map())
})
