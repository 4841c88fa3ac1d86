import { createHistogram } from 'node:perf_hooks'
import { describe, expect, test } from 'vitest'
import { findFaults, makeBars, makeFigures } from '../../../bench/lib/load-figures.ts'
import { percentile } from '../../support/load/percentile.ts'

function findHistogram(values: readonly number[]) {
  const histogram = createHistogram()
  for (const value of values) histogram.record(value)
  return histogram
}

/** Values from a microsecond to a minute, the same in each run. */
const VALUES = Array.from({ length: 20_000 }, (_, at) =>
  Math.ceil(60e6 ** (((at * 7_919) % 20_000) / 19_999)),
)

function readFigures(values: readonly number[], answers: Readonly<Record<string, number>>) {
  const sent = Object.values(answers).reduce((total, count) => total + count, 0)
  const times = { firstSentMs: 1_000, lastSentMs: 1_000 + 10 * (sent - 1) }
  const histograms = { latencyUs: findHistogram(values), lateUs: findHistogram([]) }
  return makeFigures({ rate: 100 }, { sent, answers, ...times, ...histograms })
}

describe('the figures of a load', () => {
  test('have percentiles to a thousandth, and the greatest value', () => {
    const { latencyUs } = readFigures(VALUES, { 200: VALUES.length })
    for (const percent of [50, 75, 90, 95, 99, 99.9, 99.99] as const) {
      const exact = percentile(VALUES, percent / 100)
      const found = latencyUs?.[`p${percent}`] ?? Number.NaN
      // Neighbours are 0.1 % apart here, and so are the values that a histogram tells apart.
      expect(Math.abs(found / exact - 1)).toBeLessThan(0.003)
    }
    expect(Math.abs((latencyUs?.max ?? 0) / 60e6 - 1)).toBeLessThan(0.001)
  })

  test('have bars that hold each value once, between the right bounds', () => {
    const bars = makeBars(findHistogram(VALUES))
    let above = 0
    for (const { upToUs, count } of bars) {
      const exact = VALUES.filter((value) => value > above && value <= upToUs).length
      expect(Math.abs(count - exact)).toBeLessThanOrEqual(VALUES.length / 500)
      above = upToUs
    }
    expect(bars.reduce((total, { count }) => total + count, 0)).toBe(VALUES.length)
    expect(bars.at(-1)).toMatchObject({ upToUs: 100_000_000 })
    expect(makeBars(findHistogram([1]))).toEqual([{ upToUs: 1, count: 1 }])
    expect(makeBars(findHistogram([]))).toEqual([])
  })

  test('count a refusal and a missing answer as failures, with their rate', () => {
    const answers = { 200: 96, '429 rate_limited': 3, ECONNRESET: 1 }
    const figures = readFigures(VALUES.slice(0, 96), answers)
    expect(figures).toMatchObject({
      sent: 100,
      answered: 96,
      failed: 4,
      failedShare: 0.04,
      answers,
    })
    expect(figures.sentPerSecond).toBeCloseTo(100)
  })
})

describe('a threshold', () => {
  const slow = readFigures([...Array(95).fill(1_000), ...Array(5).fill(50_000)], {
    200: 100,
    503: 1,
  })

  test('is kept by what is exactly at it', () => {
    const p99Ms = (slow.latencyUs?.p99 ?? 0) / 1_000
    expect(findFaults(slow, { maxP99Ms: p99Ms, maxFailedShare: 1 / 101 })).toEqual([])
    expect(findFaults(slow, { maxP99Ms: null, maxFailedShare: null })).toEqual([])
  })

  test('is broken by what is beyond it, each in a sentence', () => {
    const faults = findFaults(slow, { maxP99Ms: 49.9, maxFailedShare: 0.0098 })
    expect(faults).toEqual([
      expect.stringMatching(/^100\/s: p99 is 5\d(\.\d+)? ms, at most 49\.9 ms/),
      '100/s: 0.99% failed, at most 0.98% may',
    ])
  })

  test('is broken by a step without any answer', () => {
    const refused = readFigures([], { '401 invalid_api_key': 10 })
    expect(findFaults(refused, { maxP99Ms: null, maxFailedShare: null })).toHaveLength(1)
  })
})
