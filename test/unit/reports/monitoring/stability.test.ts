import { expect, test } from 'vitest'
import { checkSpec, compileModel } from '../../../../src/engine/index.ts'
import { scanApplicants } from '../../../../src/log/reading/applicant-scan.ts'
import { specBaseline } from '../../../../src/reports/monitoring/baseline.ts'
import { cellLayout } from '../../../../src/reports/monitoring/cell-layout.ts'
import { ModelTallies } from '../../../../src/reports/monitoring/model-tally.ts'
import { featureStabilities, scoreStability } from '../../../../src/reports/monitoring/stability.ts'
import { StabilityPoints } from '../../../../src/reports/monitoring/stability-points.ts'
import { card, numeric } from '../../../support/cards/cards.ts'
import { findLog, scanned } from '../../../support/score-log/scanned.ts'

const FIRST_BIN = 4
const MISSING = 3
const POINTS = [-12, 9.5] as const

/** A card of one feature, whose sample has 50, 45 and 5 applicants. */
function sampled() {
  const age = numeric('age', [
    ['(-Infinity, 25]', -12],
    ['(25, Infinity)', 9.5],
    ['Missing', 0],
  ])
  const bins = age.bins.map((bin, index) => ({ ...bin, baseline_count: [50, 45, 5][index] }))
  const check = checkSpec(card([{ ...age, bins } as typeof age]))
  if (!check.ok) throw new Error('the card is not valid')
  return { spec: check.spec, model: compileModel(check.spec) }
}

const applicants = (n: number, cell: number, score: number, atMs = 0) =>
  Array.from({ length: n }, () => ({ results: [{ score, cells: [cell] }], atMs }))

async function tallied(of: ReturnType<typeof sampled>, rows: ReturnType<typeof applicants>) {
  const layouts = cellLayout(of)
  const tallies = new ModelTallies({ modelId: 'a', population: 'all', layouts, bands: [] })
  const query = { teamId: 'team_1', deploymentId: 'dep_1', fromMs: 0, toMs: 1 }
  const log = findLog(scanned(['a'], rows))
  await scanApplicants({ log, query, dedupe: 'last' }, tallies.makeReader)
  return { layouts, tallies }
}

// Worked by hand: shares .5, .45, .05 become .4, .5, .1; points are -12, 9.5, 0.
test('a feature has both indices of a worked example', async () => {
  const of = sampled()
  const rows = [
    ...applicants(40, FIRST_BIN, 100 + POINTS[0]),
    ...applicants(50, FIRST_BIN + 1, 100 + POINTS[1]),
    ...applicants(10, MISSING, 100),
  ]
  const { layouts, tallies } = await tallied(of, rows)
  const input = {
    card: of,
    layouts,
    baseline: specBaseline('mod_a', { createdBy: 'usr_1', createdAt: new Date(0) }, of),
    zeroFill: { kind: 'count', count: 0.5 },
    thresholds: { watch: 0.1, act: 0.25 },
  } as const
  const [feature] = featureStabilities(input, tallies, tallies.single)
  expect(feature?.csi_points).toBeCloseTo(1.675, 12)
  expect(feature?.csi_psi).toBeCloseTo(0.0622397, 7)
  expect(feature).toMatchObject({ n: 100, n_expected: 100, missing_share: 0.1, zero_bins: 0 })
  // The other two cells, of numbers in no bin and of texts, are unknown and empty.
  expect(feature?.cells.map(({ expected }) => expected)).toEqual([50, 45, 5, null, null])
  const point = new StabilityPoints(input, tallies).at(tallies.single)
  const { n_compared, csi_psi, csi_points, cv_95, verdict } = feature ?? {}
  expect(n_compared).toBe(100)
  const figures = { n_compared, csi_psi, csi_points, cv_95, verdict }
  expect(point.features).toEqual([{ name: 'age', ...figures }])
  const unsampled = new StabilityPoints({ ...input, baseline: null }, tallies)
  expect(unsampled.at(tallies.single)).toMatchObject({
    score: { psi: null, cv_95: null, verdict: null },
    features: [{ csi_psi: null, csi_points: null, verdict: null }],
  })
  const score = scoreStability(input, tallies.single)
  expect((score.mean ?? 0) - (score.mean_expected ?? 0)).toBeCloseTo(1.675, 12)
})

test.each([
  ['need too much memory', { countsMax: 11 }],
  ['make too long an answer', { pointFeaturesMax: 2 }],
])('a series that would %s is refused', async (_, bound) => {
  const layouts = cellLayout(sampled())
  const tallies = new ModelTallies({
    modelId: 'a',
    population: 'all',
    layouts,
    bands: [],
    findStart: (atMs) => atMs,
    ...bound,
  })
  const log = findLog(
    scanned(
      ['a'],
      [1, 2, 3].flatMap((atMs) => applicants(1, FIRST_BIN, 88, atMs)),
    ),
  )
  const query = { teamId: 'team_1', deploymentId: 'dep_1', fromMs: 0, toMs: 9 }
  const refused = scanApplicants({ log, query, dedupe: 'none' }, tallies.makeReader)
  await expect(refused).rejects.toMatchObject({ code: 'invalid_request' })
})
