import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  findOrder,
  type PointsGroup,
} from '../../../../src/reports/performance/statistics/bin-order.ts'
import {
  computeCalibration,
  computeProbabilityFit,
  hosmerLemeshow,
} from '../../../../src/reports/performance/statistics/calibration.ts'
import {
  computeDiscrimination,
  type Direction,
  readDevelopmentCheck,
} from '../../../../src/reports/performance/statistics/discrimination.ts'
import { expectedPerformance } from '../../../../src/reports/performance/statistics/expected.ts'
import { computeGains } from '../../../../src/reports/performance/statistics/gains.ts'
import { computeKsInterval } from '../../../../src/reports/performance/statistics/ks-interval.ts'
import { comparePaired } from '../../../../src/reports/performance/statistics/paired.ts'
import { ScoreCounts } from '../../../../src/reports/performance/statistics/score-counts.ts'
import { labelledSample, mildPd } from '../../../support/naive/labelled-sample.ts'

interface Group {
  readonly min: number
  readonly n: number
  readonly bad: number
  readonly mean_pd: number
  readonly low: number
  readonly high: number
  readonly jeffreys_p: number
  readonly binomial_p: number
  readonly z: number
}

interface Order {
  readonly direction: Direction
  readonly bins: readonly PointsGroup[]
  readonly spearman: number | null
  readonly inversions: readonly {
    readonly better: number
    readonly worse: number
    readonly p: number
  }[]
}

interface Band {
  readonly min: number
  readonly max: number
  readonly count: number
  readonly bad: number
  readonly cum_count: number
  readonly cum_bad: number
  readonly bad_rate: number
  readonly low: number
  readonly high: number
  readonly cum_bad_rate: number
  readonly lift: number
}

interface Tested {
  readonly auc: number
  readonly s: number
  readonly p: number
}

interface Figures {
  readonly auc: number
  readonly auc_se: number
  readonly auc_interval: readonly [number, number]
  readonly ks: number
  readonly brier: number
  readonly spiegelhalter: { readonly z: number; readonly p: number }
  readonly development: Tested
  readonly groups: readonly Group[]
  readonly hosmer_lemeshow: { readonly chi2: number; readonly df: number; readonly p: number }
  readonly expected_bads: number
  readonly expected_auc: number | null
}

interface SampleFigures extends Figures {
  readonly n: number
  readonly has_ties: boolean
  readonly bad: number
  readonly ks_score: number
  readonly gains: readonly Band[]
  readonly ks_bootstrap: readonly [number, number] | null
  readonly ks_asymptotic: readonly [number, number]
  readonly challenger_auc: number
  readonly difference: number
  readonly difference_se: number
  readonly difference_p: number
}

/** Written by `test/peers/performance.py` with the libraries whose versions it names. */
const REFERENCE: {
  readonly small: Figures
  readonly orders: readonly Order[]
  readonly samples: readonly SampleFigures[]
} = JSON.parse(readFileSync('test/fixtures/performance/reference.json', 'utf8'))

const RISKS = [0.1, 0.35, 0.24, 0.8, 0.2, 0.85, 0.13, 0.85, 0.74, 0.58, 0.71, 0.25]
const BADS = [0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1].map((bad) => bad === 1)

function readCounts(
  scores: readonly number[],
  isBad: readonly boolean[],
  computePd: typeof mildPd,
) {
  const counts = new ScoreCounts()
  for (const [row, score] of scores.entries()) {
    counts.add(score, computePd(score), isBad[row] ? 0 : 1, isBad[row] ? 1 : 0)
  }
  return counts.sorted()
}

/** Equal but for the last digits, of which p-values of long sums lose some. */
function expectClose(found: number | null | undefined, expected: number, digits = 11): void {
  const scale = Math.max(Math.abs(expected), 1e-300)
  expect(Math.abs((found ?? Number.NaN) - expected) / scale).toBeLessThan(10 ** -digits)
}

function expectGroup({ n, bad, mean_pd, ...expected }: Group): void {
  const found = computeCalibration({ n, bad, meanPd: mean_pd })
  expectClose(found.badRateLow, expected.low, 9)
  expectClose(found.badRateHigh, expected.high, 9)
  expectClose(found.jeffreysP, expected.jeffreys_p, 9)
  expectClose(found.binomialP, expected.binomial_p, 9)
  expectClose(found.z, expected.z, 9)
}

describe('the small set', () => {
  const { small } = REFERENCE

  test('has the figures of the libraries', async () => {
    const counts = await readCounts(RISKS, BADS, (risk) => risk)
    const found = await computeDiscrimination(counts, -1)
    expectClose(found.auc, small.auc)
    expectClose(found.aucSe, small.auc_se)
    expectClose(found.aucLow, small.auc_interval[0])
    expectClose(found.aucHigh, small.auc_interval[1])
    expectClose(found.ks, small.ks)
    const development = readDevelopmentCheck(found, small.development.auc)
    expectClose(development.s, small.development.s)
    expectClose(development.pValue, small.development.p)
    const { brier, spiegelhalter } = await computeProbabilityFit(counts)
    expectClose(brier, small.brier)
    expectClose(spiegelhalter?.z, small.spiegelhalter.z)
    expectClose(spiegelhalter?.pValue, small.spiegelhalter.p)
  })

  test('of groups has the tests of the libraries', () => {
    small.groups.forEach(expectGroup)
    const groups = small.groups.map(({ n, bad, mean_pd }: Group) => ({ n, bad, meanPd: mean_pd }))
    const found = hosmerLemeshow(groups)
    expectClose(found?.chi2, small.hosmer_lemeshow.chi2)
    expect(found?.df).toBe(small.hosmer_lemeshow.df)
    expectClose(found?.pValue, small.hosmer_lemeshow.p)
  })

  test('of probabilities promises what all pairs promise', async () => {
    const counts = [0.4, 0.2, 0.1, 0.05, 0.02].map((pd) => ({ score: -pd, n: 1, pd }))
    const found = await expectedPerformance(counts, 1)
    expectClose(found.expectedBads, small.expected_bads)
    expectClose(found.auc, small.expected_auc ?? 0)
  })
})

describe.each(REFERENCE.samples)('$n applicants, ties $has_ties', (reference) => {
  const sample = labelledSample(reference.n, reference.has_ties)

  test('have the discrimination of the libraries', async () => {
    const { champion, challenger, isBad } = sample
    expect(isBad.filter(Boolean)).toHaveLength(reference.bad)
    const found = await computeDiscrimination(await readCounts(champion, isBad, mildPd), 1)
    expectClose(found.auc, reference.auc)
    expectClose(found.aucSe, reference.auc_se)
    expectClose(found.aucLow, reference.auc_interval[0])
    expectClose(found.aucHigh, reference.auc_interval[1])
    expectClose(found.ks, reference.ks)
    expectClose(found.ksScore, reference.ks_score)
    const development = readDevelopmentCheck(found, reference.development.auc)
    expectClose(development.s, reference.development.s, 9)
    expectClose(development.pValue, reference.development.p, 8)
    const paired = await comparePaired(
      { champion, challenger, isBad },
      { champion: 1, challenger: 1 },
    )
    expectClose(paired.auc, reference.challenger_auc)
    expectClose(paired.aucDifference, reference.difference, 9)
    expectClose(paired.se, reference.difference_se, 9)
    expectClose(paired.pValue, reference.difference_p, 6)
  })

  test('have the interval of KS of the libraries', async () => {
    const counts = await readCounts(sample.champion, sample.isBad, mildPd)
    const found = await computeKsInterval(counts, await computeDiscrimination(counts, 1))
    const isDrawn = reference.n <= 20_000
    expect(found).toMatchObject(
      isDrawn
        ? { method: 'bootstrap', replicates: 1_000 }
        : { method: 'asymptotic', replicates: null, seed: null },
    )
    const drawn = reference.ks_bootstrap ?? [0, 0]
    const [low, high] = isDrawn ? drawn : reference.ks_asymptotic
    expectClose(found?.low, low)
    expectClose(found?.high, high)
  })

  test('have the gains of the libraries', async () => {
    const counts = await readCounts(sample.champion, sample.isBad, mildPd)
    const bands = await computeGains(counts, 1)
    const wanted = reference.gains
    expect(
      bands.map((one) => [
        one.minScore,
        one.maxScore,
        one.count,
        one.bad,
        one.cumCount,
        one.cumBad,
      ]),
    ).toEqual(
      wanted.map((one) => [one.min, one.max, one.count, one.bad, one.cum_count, one.cum_bad]),
    )
    for (const [place, one] of wanted.entries()) {
      const { badRate, badRateLow, badRateHigh, cumBadRate, lift } = bands[place] ?? {}
      expectClose(badRate, one.bad_rate)
      expectClose(badRateLow, one.low, 9)
      expectClose(badRateHigh, one.high, 9)
      expectClose(cumBadRate, one.cum_bad_rate)
      expectClose(lift, one.lift)
    }
  })

  test('have the calibration of the libraries', async () => {
    const counts = await readCounts(sample.champion, sample.isBad, mildPd)
    const { brier, spiegelhalter } = await computeProbabilityFit(counts)
    expectClose(brier, reference.brier)
    expectClose(spiegelhalter?.z, reference.spiegelhalter.z, 8)
    expectClose(spiegelhalter?.pValue, reference.spiegelhalter.p, 6)
    reference.groups.forEach(expectGroup)
    const groups = reference.groups.map(({ n, bad, mean_pd }) => ({ n, bad, meanPd: mean_pd }))
    const found = hosmerLemeshow(groups)
    expectClose(found?.chi2, reference.hosmer_lemeshow.chi2, 9)
    expectClose(found?.pValue, reference.hosmer_lemeshow.p, 8)
    const expectedCounts = counts.map(({ score, good, bad, pd }) => ({ score, n: good + bad, pd }))
    const promised = await expectedPerformance(expectedCounts, 1)
    expectClose(promised.expectedBads, reference.expected_bads)
    if (reference.expected_auc !== null) expectClose(promised.auc, reference.expected_auc)
  })
})

test('points are in the order of bad rates as far as SciPy and statsmodels say so', () => {
  expect(REFERENCE.orders.some(({ inversions }) => inversions.length > 0)).toBe(true)
  for (const { direction, bins, spearman, inversions } of REFERENCE.orders) {
    const found = findOrder(bins, direction)
    if (spearman === null) expect(found.spearman).toBeNull()
    else expect(found.spearman).toBeCloseTo(spearman, 12)
    const places = found.inversions.map(({ better, worse }) => [better.points, worse.points])
    expect(places).toEqual(inversions.map(({ better, worse }) => [better, worse]))
    for (const [place, { p }] of inversions.entries()) {
      expectClose(found.inversions[place]?.pValue, p, 9)
    }
  }
})
