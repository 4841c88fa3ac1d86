import { describe, expect, test } from 'vitest'
import {
  computeDiscrimination,
  type Direction,
  readDevelopmentCheck,
} from '../../../../src/reports/performance/statistics/discrimination.ts'
import {
  comparePaired,
  countScores,
} from '../../../../src/reports/performance/statistics/paired.ts'
import {
  judgeChallenger,
  judgePower,
  judgeRanking,
} from '../../../../src/reports/performance/statistics/verdicts.ts'

/** A linear congruential generator: the same numbers from 0 to below 1 in each run. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const MANY = { good: 400, bad: 100 }
const interval = (difference: number, half: number) => ({
  aucDifference: difference,
  aucDifferenceLow: difference - half,
  aucDifferenceHigh: difference + half,
})

describe('a challenger', () => {
  test.each([
    ['all above 0', 0.03, 0.02, 'better'],
    ['all below 0', -0.0195, 0.0179, 'worse'],
    ['within the margin', 0.002, 0.007, 'no_difference'],
    ['within the margin, though beyond chance', 0.005, 0.004, 'no_difference'],
    ['around 0 and beyond the margin', 0.004, 0.02, 'insufficient_data'],
  ] as const)('is judged by an interval %s', (_, difference, half, verdict) => {
    expect(judgeChallenger(interval(difference, half), MANY, 0.01).verdict).toBe(verdict)
  })

  // By hand: 0.02 must become max(0.004, 0.01 - 0.004) = 0.006, so (0.02 / 0.006)² = 11.11 times
  // as many: 5,556 of whom 500 are there, a fifth of them bad.
  test("that can't be judged yet says how many more are needed", () => {
    expect(judgeChallenger(interval(0.004, 0.02), MANY, 0.01)).toEqual({
      verdict: 'insufficient_data',
      needed: { n: 5_056, bad: 1_012 },
    })
  })

  test.each([
    [
      { good: 0, bad: 0 },
      { n: 40, bad: 20 },
    ],
    [
      { good: 500, bad: 19 },
      { n: 1, bad: 1 },
    ],
    [
      { good: 15, bad: 50 },
      { n: 5, bad: 0 },
    ],
  ])('with too few of a class has no verdict: %j', (classes, needed) => {
    expect(judgeChallenger(interval(0.3, 0.1), classes, 0.01)).toEqual({
      verdict: 'insufficient_data',
      needed,
    })
  })

  test('that ranks as the champion does makes no difference', () => {
    const same = { aucDifference: 0, aucDifferenceLow: null, aucDifferenceHigh: null }
    expect(judgeChallenger(same, MANY, 0.01).verdict).toBe('no_difference')
  })

  // The same applicants again and again have the same difference, and an ever smaller interval.
  test('has a verdict once as many as it said are there', async () => {
    const draw = randomNumbers(7)
    const isBad = Array.from({ length: 300 }, (_, row) => row % 4 === 0)
    const champion = isBad.map((bad) => draw() * 100 - (bad ? 20 : 0))
    const challenger = champion.map((score) => score + (draw() - 0.5) * 18)
    const times = async (count: number) => {
      const repeated = <Item>(items: readonly Item[]) => Array(count).fill(items).flat() as Item[]
      const rows = { champion: repeated(champion), challenger: repeated(challenger) }
      const sides = { champion: 1, challenger: 1 } as const
      return comparePaired({ ...rows, isBad: repeated(isBad) }, sides)
    }
    const first = await times(1)
    const before = judgeChallenger(first, first, 0.01)
    expect(before.verdict).toBe('insufficient_data')
    const copies = Math.ceil(((before.needed?.n ?? 0) + 300) / 300)
    expect(copies).toBeGreaterThan(1)
    const after = await times(copies + 1)
    expect(judgeChallenger(after, after, 0.01).verdict).not.toBe('insufficient_data')
    const justBelow = await times(Math.max(1, copies - 2))
    expect(judgeChallenger(justBelow, justBelow, 0.01).verdict).toBe('insufficient_data')
  })
})

describe('power since development', () => {
  const found = (auc: number, aucSe: number) => ({ auc, aucSe }) as never
  const check = (auc: number) => ({ auc, s: null, pValue: null })

  // By hand: bounds on one side are 1.645 standard errors away.
  test.each([
    ['far below', 0.7, 0.01, 0.75, 'lost_power'],
    ['as good', 0.75, 0.005, 0.75, 'held'],
    ['better', 0.8, 0.02, 0.75, 'held'],
    ['lower by less than matters', 0.749, 0.001, 0.75, 'held'],
    ['lower, perhaps by chance', 0.74, 0.01, 0.75, 'insufficient_data'],
  ] as const)('%s', (_, auc, se, then, verdict) => {
    expect(judgePower(found(auc, se), check(then), MANY, 0.01).verdict).toBe(verdict)
  })

  test('is not known without an AUC of the development sample', () => {
    expect(judgePower(found(0.7, 0.01), null, MANY, 0.01).verdict).toBe('unknown')
  })

  test('lost_power never contradicts the p-value beside it', async () => {
    const draw = randomNumbers(3)
    for (let round = 0; round < 50; round++) {
      const isBad = Array.from({ length: 200 }, (_, row) => row % 3 === 0)
      const scores = isBad.map((bad) => Math.floor(draw() * 50) - (bad ? 10 : 0))
      const now = await computeDiscrimination(await countScores(scores, isBad), 1 as Direction)
      const development = readDevelopmentCheck(now, 0.5 + draw() / 2)
      const { verdict } = judgePower(now, development, MANY, 0.01)
      if (verdict === 'lost_power') expect(development.pValue).toBeLessThanOrEqual(0.05)
      if ((development.pValue ?? 1) > 0.05) expect(verdict).not.toBe('lost_power')
    }
  })
})

test('ranking is judged by the interval of the AUC around one half', () => {
  const found = (aucLow: number, aucHigh: number) =>
    ({ auc: (aucLow + aucHigh) / 2, aucLow, aucHigh }) as never
  expect(judgeRanking(found(0.6, 0.7), MANY).verdict).toBe('ranks')
  expect(judgeRanking(found(0.3, 0.4), MANY).verdict).toBe('ranks_backwards')
  // By hand: 0.1 must become 0.05, four times as many as 500.
  expect(judgeRanking(found(0.45, 0.65), MANY)).toEqual({
    verdict: 'insufficient_data',
    needed: { n: 1_500, bad: 300 },
  })
})
