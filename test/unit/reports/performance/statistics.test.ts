import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  computeCalibration,
  hosmerLemeshow,
  weightOfEvidence,
} from '../../../../src/reports/performance/statistics/calibration.ts'
import { computeDiscrimination } from '../../../../src/reports/performance/statistics/discrimination.ts'
import { expectedPerformance } from '../../../../src/reports/performance/statistics/expected.ts'
import { computeGains } from '../../../../src/reports/performance/statistics/gains.ts'
import {
  comparePaired,
  countScores,
} from '../../../../src/reports/performance/statistics/paired.ts'
import { addMonths, VintageTally } from '../../../../src/reports/performance/statistics/vintages.ts'
import { timedTurns } from '../../../support/expect/turns.ts'
import { labelledSample as sample } from '../../../support/naive/labelled-sample.ts'

const RISKS = [0.1, 0.35, 0.24, 0.8, 0.2, 0.85, 0.13, 0.85, 0.74, 0.58, 0.71, 0.25]
const BADS = [0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1].map((bad) => bad === 1)

// The values of the three libraries were written by NumPy 2.4, SciPy 1.17 and scikit-learn 1.8.
describe('discrimination', () => {
  test('a small set with a tie has the AUC, interval and KS of scikit-learn and SciPy', async () => {
    const found = await computeDiscrimination(await countScores(RISKS, BADS), -1)
    expect(found.auc).toBeCloseTo(0.7083333333333334, 14)
    expect(found.aucSe).toBeCloseTo(0.1687371394276382, 14)
    expect(found.aucLow).toBeCloseTo(0.3288288967519816, 13)
    expect(found.aucHigh).toBeCloseTo(0.9233028642645308, 13)
    expect(found.gini).toBeCloseTo(0.4166666666666667, 14)
    expect(found.ks).toBeCloseTo(0.5, 14)
  })

  test.each([
    {
      n: 400,
      hasTies: true,
      bads: 134,
      auc: 0.8823925485355179,
      se: 0.01832881086242169,
      other: 0.8350072943552912,
      difference: -0.047385254180226655,
      differenceSe: 0.014169829797209876,
      p: 0.0008255152252739159,
      ks: 0.610313096173269,
      ksScore: 470,
    },
    {
      n: 1500,
      hasTies: false,
      bads: 469,
      auc: 0.8774390483497712,
      se: 0.009175771178630247,
      other: 0.8144844573033406,
      difference: -0.06295459104643053,
      differenceSe: 0.007951180220868886,
      p: 2.4205893019847246e-15,
      ks: 0.6094668682360678,
      ksScore: 476.66314132511616,
    },
  ])('$n applicants, ties $hasTies, have the figures of the libraries', async (expected) => {
    const { champion, challenger, isBad } = sample(expected.n, expected.hasTies)
    expect(isBad.filter(Boolean)).toHaveLength(expected.bads)
    const found = await computeDiscrimination(await countScores(champion, isBad), 1)
    expect(found.auc).toBeCloseTo(expected.auc, 13)
    expect(found.aucSe).toBeCloseTo(expected.se, 13)
    expect(found.ks).toBeCloseTo(expected.ks, 13)
    expect(found.ksScore).toBeCloseTo(expected.ksScore, 10)
    const paired = await comparePaired(
      { champion, challenger, isBad },
      { champion: 1, challenger: 1 },
    )
    expect(paired.auc).toBeCloseTo(expected.other, 13)
    expect(paired.aucDifference).toBeCloseTo(expected.difference, 13)
    expect(paired.se).toBeCloseTo(expected.differenceSe, 13)
    expect((paired.pValue ?? 1) / expected.p).toBeCloseTo(1, 9)
  })

  test('any order of the rows gives the same bits, and a mirrored card the same figures', async () => {
    const { champion, challenger, isBad } = sample(400, true)
    const order = champion.map((_, row) => row).sort((a, b) => ((a * 37) % 400) - ((b * 37) % 400))
    const shuffled = <T>(list: readonly T[]) => order.map((row) => list[row] as T)
    const found = await computeDiscrimination(await countScores(champion, isBad), 1)
    const bad = shuffled(isBad)
    const again = await computeDiscrimination(await countScores(shuffled(champion), bad), 1)
    expect(again).toEqual(found)
    const paired = { champion: shuffled(champion), challenger: shuffled(challenger), isBad: bad }
    const both = { champion: 1, challenger: 1 } as const
    expect(await comparePaired(paired, both)).toEqual(
      await comparePaired({ champion, challenger, isBad }, both),
    )
    const mirrored = champion.map((score) => -score)
    const { ksScore: _, ...figures } = found
    const other = await computeDiscrimination(await countScores(mirrored, isBad), -1)
    expect(other).toMatchObject(figures)
  })

  test('a comparison of many applicants leaves the event loop to scores', async () => {
    const both = { champion: 1, challenger: 1 } as const
    const rows = sample(100_000, false)
    const { result, longestMs, totalMs } = await timedTurns(() => comparePaired(rows, both))
    expect(result.n).toBe(100_000)
    expect(longestMs).toBeLessThan(totalMs / 3)
  })

  test('one score for all tells nothing apart, and has no interval', async () => {
    const found = await computeDiscrimination([{ score: 500, good: 30, bad: 5 }], 1)
    expect(found).toMatchObject({ auc: 0.5, aucSe: 0, aucLow: null, aucHigh: null, ks: 0 })
    const scores = { champion: [1, 1, 1, 1], challenger: [1, 1, 1, 1] }
    const isBad = [true, true, false, false]
    expect(await comparePaired({ ...scores, isBad }, { champion: 1, challenger: 1 })).toMatchObject(
      {
        n: 4,
        auc: 0.5,
        aucDifference: 0,
        se: 0,
        z: null,
        pValue: null,
      },
    )
  })

  test('one class only has no figures', async () => {
    const found = await computeDiscrimination([{ score: 500, good: 30, bad: 0 }], 1)
    expect(Object.values(found).every((value) => value === null)).toBe(true)
  })
})

describe('gains', () => {
  test('bands run from the best to the worst scores and keep ties together', async () => {
    const counts = [
      { score: 400, good: 1, bad: 3 },
      { score: 500, good: 5, bad: 1 },
      { score: 600, good: 10, bad: 0 },
    ]
    const bands = await computeGains(counts, 1, 4)
    expect(bands.map(({ minScore, maxScore, count }) => [minScore, maxScore, count])).toEqual([
      [600, 600, 10],
      [500, 500, 6],
      [400, 400, 4],
    ])
    expect(bands.at(-1)).toMatchObject({
      cumCount: 20,
      cumGood: 16,
      cumBad: 4,
      share: 0.2,
      badRate: 0.75,
      cumBadRate: 0.2,
      approvalRate: 1,
      lift: 3.75,
    })
    expect((await computeGains(counts, -1, 4))[0]).toMatchObject({
      minScore: 400,
      maxScore: 500,
      bad: 4,
    })
  })

  // A table of one applicant in each band says nothing.
  test('after a large tie the bands are as large as before', async () => {
    const below = Array.from({ length: 50 }, (_, score) => ({ score, good: 1, bad: 0 }))
    const bands = await computeGains([...below, { score: 900, good: 40, bad: 10 }], 1)
    expect(bands.map(({ count }) => count)).toEqual([50, 10, 10, 10, 10, 10])
  })

  test('each band ends with the score that holds the next tenth of all applicants', async () => {
    const arbitrary = fc.array(fc.tuple(fc.nat(60), fc.boolean()), { minLength: 1, maxLength: 200 })
    await fc.assert(
      fc.asyncProperty(arbitrary, fc.integer({ min: 1, max: 12 }), async (applicants, bandsMax) => {
        const scores = applicants.map(([score]) => score).sort((a, b) => b - a)
        // The tenth of the first applicant of a score decides for all with this score.
        const findBand = (score: number) =>
          Math.floor((scores.indexOf(score) * bandsMax) / scores.length)
        const naive = new Map<number, number[]>()
        let previous = -1
        for (const score of new Set(scores)) {
          const isNew = previous < 0 || findBand(score) > findBand(scores[previous] ?? 0)
          if (isNew) previous = scores.indexOf(score)
          const start = scores[previous] ?? 0
          naive.set(start, [...(naive.get(start) ?? []), score])
        }
        const counts = [...new Set(scores)].toReversed().map((score) => ({
          score,
          good: applicants.filter(([own, isBad]) => own === score && !isBad).length,
          bad: applicants.filter(([own, isBad]) => own === score && isBad).length,
        }))
        const bands = await computeGains(counts, 1, bandsMax)
        expect(bands.map(({ minScore, maxScore }) => [minScore, maxScore])).toEqual(
          [...naive.values()].map((own) => [Math.min(...own), Math.max(...own)]),
        )
      }),
    )
  })
})

describe('calibration', () => {
  test.each([
    [400, 0.005, 3, 0.21993296733019246, 0.3233230170874564, 0.7088812],
    [300, 0.02, 9, 0.11221072253803066, 0.15066710261019126, 1.2371791],
    [200, 0.06, 14, 0.2663957624674117, 0.3151136190937142, 0.5954913],
    [100, 0.15, 21, 0.051355678522274746, 0.06631976581888163, 1.6803361],
    [100, 0.03, 7, 0.01849320071446584, 0.031227509431355254, 2.3448415],
    [1_000_000, 0.02, 20_200, 0.07673380425457442, 0.07724787137104214, 1.4285714],
  ])('%i applicants at %f with %i bad have the tests of SciPy', (n, meanPd, bad, p, tail, z) => {
    const found = computeCalibration({ n, bad, meanPd })
    expect((found.jeffreysP ?? 0) / p).toBeCloseTo(1, 10)
    expect((found.binomialP ?? 0) / tail).toBeCloseTo(1, 10)
    expect(found.z).toBeCloseTo(z, 7)
  })

  test.each([
    [3, 400, 0.002116722217300859, 0.019878627795068687],
    [21, 100, 0.13911490309857838, 0.29738780252590263],
    [0, 50, 9.771663301804052e-6, 0.048758459444071374],
    [50, 50, 0.9512415405559286, 0.9999902283366982],
    [20_200, 1_000_000, 0.01992565155562604, 0.020477125809727756],
  ])('the Jeffreys interval of %i bad in %i is that of SciPy', (bad, n, low, high) => {
    const found = computeCalibration({ n, bad, meanPd: null })
    expect(found.badRateLow / low).toBeCloseTo(1, 9)
    expect(found.badRateHigh / high).toBeCloseTo(1, 9)
    expect(found).toMatchObject({ jeffreysP: null, binomialP: null, z: null, light: null })
  })

  test('the light is red up to 0.01 and amber up to 0.05', () => {
    const decideLight = (bad: number) => computeCalibration({ n: 100, bad, meanPd: 0.03 }).light
    expect([3, 7, 9].map(decideLight)).toEqual(['green', 'amber', 'red'])
  })

  test('Hosmer-Lemeshow has a degree of freedom for each group', () => {
    const groups = [
      { n: 400, meanPd: 0.005, bad: 3 },
      { n: 300, meanPd: 0.02, bad: 9 },
      { n: 200, meanPd: 0.06, bad: 14 },
      { n: 100, meanPd: 0.15, bad: 21 },
    ]
    const found = hosmerLemeshow(groups)
    expect(found?.chi2).toBeCloseTo(5.21126414855475, 11)
    expect(found?.df).toBe(4)
    expect(found?.pValue).toBeCloseTo(0.2662991478209578, 12)
    expect(hosmerLemeshow([])).toBeNull()
    expect(hosmerLemeshow([{ n: 5, bad: 0, meanPd: null }])).toBeNull()
  })

  test('the weight of evidence adds a half to the counts of the bin alone', () => {
    expect(weightOfEvidence(9, 1, 90, 10)).toBeCloseTo(Math.log(9.5 / 90 / (1.5 / 10)), 15)
    expect(weightOfEvidence(9, 0, 90, 0)).toBeNull()
  })
})

describe('expected performance', () => {
  const counts = (pds: readonly number[]) =>
    pds.map((pd) => ({ score: -pd, n: 1, pd })).toReversed()

  test('leaves out the pairs of an applicant with themselves', async () => {
    const found = await expectedPerformance(counts([0.02, 0.05, 0.1, 0.2, 0.4]), 1)
    expect(found).toMatchObject({ n: 5, expectedBads: expect.closeTo(0.77, 12) })
    expect(found.auc).toBeCloseTo(0.8370370370370374, 12)
  })

  test('ties count half, whether their rows are counted alone or together', async () => {
    const alone = await expectedPerformance(counts([0.02, 0.02, 0.1, 0.2, 0.2]), 1)
    expect(alone.auc).toBeCloseTo(0.7756227031441406, 12)
    const together = [
      { score: -0.02, n: 2, pd: 0.02 },
      { score: -0.1, n: 1, pd: 0.1 },
      { score: -0.2, n: 2, pd: 0.2 },
    ]
    const found = await expectedPerformance(together.toReversed(), 1)
    expect(found.auc).toBeCloseTo(0.7756227031441406, 12)
    expect(await expectedPerformance([], 1)).toEqual({ n: 0, expectedBads: 0, auc: null })
  })
})

describe('vintages', () => {
  const day = (text: string) => Date.parse(`${text}T00:00:00.000Z`)
  const account = (booked: string, asOf: string, event: string | null = null) => ({
    bookedAtMs: day(booked),
    asOfMs: day(asOf),
    eventAtMs: event === null ? null : day(event),
  })

  test('a value counts those that were observed so long, to the day', async () => {
    const tally = new VintageTally(3)
    for (const one of [
      account('2025-03-10', '2025-05-10', '2025-05-10'),
      account('2025-03-31', '2025-05-31'),
      account('2025-03-01', '2025-04-30'),
      account('2025-03-15', '2025-04-14'),
      account('2025-04-01', '2025-05-01', '2025-04-30'),
    ]) {
      tally.add(one)
    }
    expect(await tally.vintages()).toMatchObject([
      { cohort: '2025-03', n: 4, values: [0, 0, 0.5, null] },
      { cohort: '2025-04', n: 1, values: [0, 1, null, null] },
    ])
  })

  test('a month ends at the time of day of the booking', async () => {
    const tally = new VintageTally(1)
    const bookedAtMs = Date.parse('2025-01-31T18:00:00Z')
    const endMs = Date.parse('2025-02-28T18:00:00Z')
    tally.add({ bookedAtMs, asOfMs: endMs, eventAtMs: endMs })
    tally.add({ bookedAtMs, asOfMs: endMs + 1, eventAtMs: endMs + 1 })
    tally.add({ bookedAtMs, asOfMs: endMs - 1, eventAtMs: null })
    expect(await tally.vintages()).toMatchObject([{ cohort: '2025-01', n: 3, values: [0, 0.5] }])
  })

  test('a month later is the last day where the month is shorter', () => {
    expect(addMonths(day('2025-01-31'), 1)).toBe(day('2025-02-28'))
    expect(addMonths(day('2024-01-31'), 1)).toBe(day('2024-02-29'))
    expect(addMonths(day('2025-11-30'), 3)).toBe(day('2026-02-28'))
    expect(addMonths(day('2025-03-31'), 12)).toBe(day('2026-03-31'))
  })
})
