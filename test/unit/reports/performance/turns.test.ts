import { beforeAll, describe, expect, test } from 'vitest'
import type { ScoredApplicant } from '../../../../src/outcomes/applicant.ts'
import { makeReport } from '../../../../src/reports/performance/report.ts'
import { computeProbabilityFit } from '../../../../src/reports/performance/statistics/calibration.ts'
import { computeDiscrimination } from '../../../../src/reports/performance/statistics/discrimination.ts'
import { expectedPerformance } from '../../../../src/reports/performance/statistics/expected.ts'
import { computeGains } from '../../../../src/reports/performance/statistics/gains.ts'
import { computeKsInterval } from '../../../../src/reports/performance/statistics/ks-interval.ts'
import { ScoreCounts } from '../../../../src/reports/performance/statistics/score-counts.ts'
import { PerformanceTally } from '../../../../src/reports/performance/tally.ts'
import { timedTurns } from '../../../support/expect/turns.ts'

/** As many distinct scores as a report may have. */
const SCORES = 1_000_000
/** The longest wait of scores as a share of the time: a figure in one turn takes all of it. */
const SHARE_MAX = 0.7

interface Count {
  readonly score: number
  readonly good: number
  readonly bad: number
  readonly n: number
  readonly pd: number
}

let counts: Count[]
const table = new ScoreCounts()

beforeAll(() => {
  counts = Array.from({ length: SCORES }, (_, index) => {
    const isBad = (index * 7_919) % 1_000 > index / 1_200
    const pd = 0.001 + 0.8 * (1 - index / SCORES)
    return { score: index / 1_000, good: isBad ? 0 : 1, bad: isBad ? 1 : 0, n: 1, pd }
  })
  for (const { score, pd, good, bad } of counts) table.add(score, pd, good, bad)
})

// A report over a million applicants is one of many requests of its process.
describe('over a million distinct scores', () => {
  test.each([
    ['discrimination', () => computeDiscrimination(counts, 1)],
    ['the gains table', () => computeGains(counts, 1)],
    ['the Brier score', () => computeProbabilityFit(counts)],
    ['what is expected', () => expectedPerformance(counts, 1)],
    ['sorting', () => table.sorted()],
    ['the interval of KS', () => computeKsInterval(counts, { ks: 0.5, ksScore: 500 } as never)],
  ])('%s leaves the event loop to scores', async (_, work) => {
    const { longestMs, totalMs } = await timedTurns<unknown>(work)
    expect(longestMs).toBeLessThan(Math.max(20, totalMs * SHARE_MAX))
  })
})

test('draws for an interval leave the event loop to scores', async () => {
  const drawn = counts.filter((_, index) => index % 60 === 0)
  const found = await computeDiscrimination(drawn, 1)
  const { result, longestMs, totalMs } = await timedTurns(() => computeKsInterval(drawn, found))
  expect(result?.method).toBe('bootstrap')
  expect(longestMs).toBeLessThan(totalMs / 5)
})

test('a whole report over 200,000 applicants leaves the event loop to scores', async () => {
  const tally = new PerformanceTally('mod_1', 0)
  for (let index = 0; index < 200_000; index++) {
    const { score, bad, pd } = counts[index * 5] ?? { score: 0, bad: 0, pd: 0 }
    const applicant = {
      requestId: `req_${index}`,
      recordIndex: 0,
      results: [
        ['mod_1', null, score, pd, 'A', []],
        ['mod_2', 'ch_2', score + (index % 7), pd, 'A', []],
      ],
    } as unknown as ScoredApplicant
    const outcome = bad === 1 ? 'bad' : 'good'
    const performance = { outcome, asOfMs: 0, eventAtMs: null, bookedAtMs: null } as const
    tally.add({ applicant, performance, decision: null })
  }
  const model = { modelId: 'mod_1', name: 'm', version: '1', specSha256: '', card: null }
  const unlabelled = counts.slice(0, 200_000)
  const { result, longestMs, totalMs } = await timedTurns(() =>
    makeReport({
      tally,
      population: { scored: 400_000, unlabelled },
      model,
      others: new Map(),
      developmentAuc: null,
      margin: 0.01,
      challengers: [],
    }),
  )
  expect(result).toMatchObject({ n: 200_000, expected: { n: 200_000 } })
  expect(result.paired[0]?.n).toBe(200_000)
  expect(longestMs).toBeLessThan(totalMs / 5)
})
