import { describe, expect, test } from 'vitest'
import { scaleOver, ValueDistribution } from '../../../../src/reports/stats/value-distribution.ts'
import { percentile } from '../../../support/load/percentile.ts'

/** Reproducible values in [0, 1). */
function randoms(count: number): number[] {
  let state = 42
  return Array.from({ length: count }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  })
}

const of = (values: readonly number[]) => {
  const distribution = new ValueDistribution()
  for (const value of values) distribution.add(value)
  return distribution
}

const SHARES = [0, 0.05, 0.5, 0.95, 1]

describe('a distribution of few values', () => {
  const values = [3, 1.5, -2, 3, 700.25, 0]

  test('is exact', () => {
    const distribution = of(values)
    expect(distribution.average).toBeCloseTo(705.75 / 6, 12)
    expect([distribution.min, distribution.max, distribution.count]).toEqual([-2, 700.25, 6])
    expect(distribution.percentiles(SHARES)).toEqual(
      SHARES.map((share) => percentile(values, share)),
    )
  })

  test('without values has no figures', () => {
    const nothing = new ValueDistribution()
    expect([nothing.average, nothing.percentiles([0.5])]).toEqual([null, [null]])
    expect([scaleOver([nothing]), nothing.histogram(null)]).toEqual([null, null])
  })

  test('does not overflow with the largest values', () => {
    const distribution = of([Number.MAX_VALUE, Number.MAX_VALUE, Number.MAX_VALUE])
    expect(distribution.average).toBeGreaterThan(1.7e308)
  })
})

// A month of a deployment has millions of scores, each perhaps with its own value.
describe.each([1, 1e-3, 1e6])('a distribution of many values times %d', (factor) => {
  const values = randoms(60_000).map((value, index) => factor * (value * 400 - (index % 7)))
  const distribution = of(values)
  const range = distribution.max - distribution.min

  test('keeps its percentiles within a thousandth of its range', () => {
    const found = distribution.percentiles(SHARES)
    for (const [index, share] of SHARES.entries()) {
      const difference = Math.abs((found[index] ?? Number.NaN) - percentile(values, share))
      expect(difference).toBeLessThan(range / 1_000)
    }
  })

  test('has the histogram and the average of its values', () => {
    const scale = scaleOver([distribution]) ?? expect.fail('there is no scale')
    const counts = Array.from({ length: scale.bins }, () => 0)
    for (const value of values) {
      const bin = Math.floor((value - scale.low) / scale.width)
      counts[bin] = (counts[bin] ?? 0) + 1
    }
    const found = distribution.histogram(scale)?.counts ?? []
    const moved = counts.reduce((sum, count, bin) => sum + Math.abs(count - (found[bin] ?? 0)), 0)
    // A value on the end of a bin may round into its neighbour.
    expect(moved).toBeLessThanOrEqual(4)
    const average = values.reduce((sum, value) => sum + value / values.length, 0)
    expect((distribution.average ?? 0) / average).toBeCloseTo(1, 12)
  })
})

// Bands end at these: an end that misses the score of many applicants moves them to another band.
test('a percentile between equal values is that value to the bit', () => {
  for (const value of [0.1, 459.38128662109375, -612.1, 1e-7]) {
    const values = new ValueDistribution()
    for (let n = 0; n < 8; n++) values.add(value)
    const shares = [0.1, 0.2, 0.3, 0.35, 0.7, 0.9]
    expect(values.percentiles(shares)).toEqual(shares.map(() => value))
  }
})
