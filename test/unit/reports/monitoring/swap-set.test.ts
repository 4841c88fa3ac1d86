import fc from 'fast-check'
import { expect, test } from 'vitest'
import { scanApplicants } from '../../../../src/log/reading/applicant-scan.ts'
import { SwapTally } from '../../../../src/reports/monitoring/swap-set.ts'
import { findLog, type ScannedApplicant, scanned } from '../../../support/score-log/scanned.ts'

const QUERY = { teamId: 'team_1', deploymentId: 'dep_1', fromMs: 0, toMs: 1 }
const RULES = ['same_cutoff', 'same_approval_rate', 'same_bad_rate'] as const

async function swapSet(
  applicants: readonly ScannedApplicant[],
  { rule, cutoff, scoresMax }: { rule: (typeof RULES)[number]; cutoff: number; scoresMax?: number },
) {
  const tally = new SwapTally({
    challengerId: 'ch_b',
    rule,
    cutoff,
    challengerCutoff: null,
    findDirection: async () => 1,
    challengerDirection: 1,
    ...(scoresMax !== undefined && { scoresMax }),
  })
  const log = findLog(scanned(['a', 'b'], applicants))
  await scanApplicants({ log, query: QUERY, dedupe: 'none' }, tally.makeReader)
  return tally.report()
}

const times = (n: number, champion: number, challenger: number, pds: readonly [number, number]) =>
  Array.from({ length: n }, () => ({
    results: [
      { score: champion, pd: pds[0] },
      { score: challenger, pd: pds[1] },
    ],
  }))

// 600 approved by both, 50 swapped out, 70 swapped in, 280 declined; statsmodels 0.14 for McNemar.
test('a swap set of a worked example has its rates, bads and test', async () => {
  const found = await swapSet(
    [
      ...times(600, 600, 600, [0.03, 0.03]),
      ...times(50, 600, 400, [0.12, 0.2]),
      ...times(70, 400, 600, [0.2, 0.035]),
      ...times(280, 400, 400, [0.3, 0.3]),
    ],
    { rule: 'same_cutoff', cutoff: 500 },
  )
  expect(found).toMatchObject({ n: 1_000, approval_rate: 0.65, challenger_approval_rate: 0.67 })
  const { both_approve, swap_out, swap_in, both_decline } = found.cells
  expect([both_approve.n, swap_out.n, swap_in.n, both_decline.n]).toEqual([600, 50, 70, 280])
  expect(both_approve.expected_bads_champion).toBeCloseTo(18, 10)
  expect(swap_out.expected_bads_champion).toBeCloseTo(6, 10)
  expect(swap_in.expected_bads_challenger).toBeCloseTo(2.45, 10)
  expect(swap_in.mean_pd_challenger).toBeCloseTo(0.035, 12)
  expect(found.mcnemar?.chi2).toBeCloseTo(10 / 3, 12)
  expect(found.mcnemar?.p_value).toBeCloseTo(0.06788915486182893, 12)
})

const applicants = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 6 })),
  { maxLength: 30 },
)
/** The probability follows from the score, as it does from a scale. */
const computePd = (score: number) => 1 / (1 + Math.exp(score / 3))
const queryRows = (scores: readonly (readonly [number, number])[]) =>
  scores.flatMap(([a, b]) => times(1, a, b, [computePd(a), computePd(b)]))

test.each(RULES)('equal models swap nobody by the rule %s', async (rule) => {
  await fc.assert(
    fc.asyncProperty(applicants, fc.nat(6), async (scores, cutoff) => {
      const rows = queryRows(scores.map(([a]) => [a, a] as const))
      const { cells } = await swapSet(rows, { rule, cutoff })
      expect([cells.swap_in.n, cells.swap_out.n]).toEqual([0, 0])
    }),
  )
})

test.each(RULES)('the cells add up to all applicants by the rule %s', async (rule) => {
  await fc.assert(
    fc.asyncProperty(applicants, fc.nat(6), async (scores, cutoff) => {
      const found = await swapSet(queryRows(scores), { rule, cutoff })
      const sum = Object.values(found.cells).reduce((total, { n }) => total + n, 0)
      expect([sum, found.n]).toEqual([scores.length, scores.length])
    }),
  )
})

test('more different scores than a table may hold are refused, where it needs one', async () => {
  const rows = queryRows([
    [1, 1],
    [2, 2],
    [3, 3],
  ])
  const bounded = { cutoff: 2, scoresMax: 2 }
  await expect(swapSet(rows, { ...bounded, rule: 'same_bad_rate' })).rejects.toMatchObject({
    code: 'invalid_request',
  })
  expect((await swapSet(rows, { ...bounded, rule: 'same_cutoff' })).n).toBe(3)
})

test('without probabilities a rule that needs them is refused', async () => {
  const rows = times(2, 1, 1, [Number.NaN, Number.NaN])
  const refused = swapSet(rows, { rule: 'same_bad_rate', cutoff: 0 })
  await expect(refused).rejects.toMatchObject({ code: 'invalid_request' })
  const found = await swapSet(rows, { rule: 'same_approval_rate', cutoff: 0 })
  expect(found.cells.both_approve).toMatchObject({ n: 2, mean_pd_champion: null })
})

// A challenger becomes champion: what it would have changed must be what its rival changes now.
test('exchanging champion and challenger exchanges those who are swapped in and out', async () => {
  await fc.assert(
    fc.asyncProperty(applicants, fc.nat(6), async (scores, cutoff) => {
      const there = await swapSet(queryRows(scores), { rule: 'same_cutoff', cutoff })
      const exchanged = scores.map(([a, b]) => [b, a] as const)
      const back = await swapSet(queryRows(exchanged), { rule: 'same_cutoff', cutoff })
      const { both_approve, swap_in, swap_out, both_decline } = there.cells
      expect(back.cells).toMatchObject({
        both_approve: { n: both_approve.n },
        swap_in: { n: swap_out.n },
        swap_out: { n: swap_in.n },
        both_decline: { n: both_decline.n },
      })
      expect(back.approval_rate).toBe(there.challenger_approval_rate)
      expect(back.mcnemar).toEqual(there.mcnemar)
    }),
  )
})
