import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  checkSpec,
  compileModel,
  ModelScore,
  nextUp,
  type ScorecardSpec,
  scoreApplicant,
} from '../../../../src/engine/index.ts'
import type { Card } from '../../../../src/log/reading/logged-feature.ts'
import type { LoggedRequest } from '../../../../src/log/record/logged-request.ts'
import { TurnTaker } from '../../../../src/platform/turn-taker.ts'
import { Backtest, ScoreBands } from '../../../../src/reports/backtest/backtest.ts'
import { card, categorical, numeric } from '../../../support/cards/cards.ts'
import { cellColumnsOfRequests } from '../../../support/score-log/cell-columns.ts'

type Applicant = Readonly<Record<string, number | string | null>>

function readCard(spec: object): Card {
  const check = checkSpec(spec)
  if (!check.ok) throw new Error(JSON.stringify(check.faults))
  return { spec: check.spec, model: compileModel(check.spec) }
}

function scored({ model }: Card, applicant: Applicant) {
  const score = new ModelScore(model)
  scoreApplicant(applicant, score)
  return {
    score: score.score,
    pd: Number.isNaN(score.pd) ? null : score.pd,
    grade: score.grade,
    warningCount: 0,
    cells: Array.from(score.slots, (slot) => model.cellOfSlot[slot] ?? -1),
  }
}

/** Applicants as these cards would have logged them, champion first. */
function logged(cards: readonly Card[], applicants: readonly Applicant[]): LoggedRequest[] {
  return applicants.map((applicant, index) => ({
    requestId: `req_${index}`,
    scoredAtMs: index,
    latencyMs: 1,
    teamId: 'team_1',
    deploymentId: 'dep_1',
    cacheVersion: 1,
    keyId: 'key_1',
    bucket: null,
    reference: null,
    isBatch: false,
    served: 0,
    engineVersion: 1,
    models: cards.map((_, position) => ({
      modelId: `mod_${position}`,
      role: position === 0 ? 'champion' : 'challenger',
      challengerId: position === 0 ? null : `ch_${position}`,
      specSha256: null,
      baselineId: null,
    })),
    rows: [{ id: null, results: cards.map((one) => scored(one, applicant)) }],
  }))
}

async function backtested(
  cards: readonly Card[],
  candidate: Card,
  applicants: readonly Applicant[],
  cutoffs: readonly number[] = [],
) {
  const backtest = new Backtest(candidate, cutoffs)
  const models = new Map(cards.map((own, index) => [`mod_${index}`, { card: own }]))
  for (const columns of cellColumnsOfRequests(logged(cards, applicants))) {
    await backtest.add(columns, models, new TurnTaker())
  }
  return backtest.result()
}

const SCALE = { base_points: 500.3 }
const AGE = numeric('age', [
  ['(-Infinity, 25]', -12.1],
  ['(25, 40]', 9.3],
  ['(40, Infinity)', 17.7],
  ['Missing', 0.7],
])
const PURPOSE = categorical('purpose', [
  ['car%,%furniture', 4.2],
  ['boat', -2.5],
  ['Missing', -7.9],
])
const LOGGED = readCard(card([AGE, PURPOSE], SCALE))

const AGES = [null, 'a text', -1e300, 0, 25, nextUp(25), 30, 33, 40, nextUp(40), 41, 99, 1e300]
const PURPOSES = [null, 'Missing', 'car', 'furniture', 'boat', 'plane', 'house']
const ALL: Applicant[] = AGES.flatMap((age) => PURPOSES.map((purpose) => ({ age, purpose })))
const computeMean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length
const truth = (candidate: Card, applicants: readonly Applicant[]) =>
  applicants.map((applicant) => scored(candidate, applicant).score)

describe('a candidate with the same bins', () => {
  test('that is the logged card gives identical bits, and nobody swaps', async () => {
    const result = await backtested([LOGGED], LOGGED, ALL, [500])
    expect(result).toMatchObject({ n: ALL.length, exact_share: 1, psi: { psi: 0 } })
    expect(result.scores.mean).toBe(computeMean(truth(LOGGED, ALL)))
    expect(result.scores.mean_low).toBe(result.scores.mean_high)
    expect(result.swap_set?.cells).toMatchObject({
      swap_in: { n: 0 },
      swap_out: { n: 0 },
      undecided: { n: 0 },
    })
  })

  test('and other points is exact', async () => {
    const bins = AGE.bins.map((bin, index) => ({ ...bin, points: 0.1 * (index + 1) ** 3 }))
    const candidate = readCard(
      card([PURPOSE, { ...AGE, bins } as typeof AGE], { base_points: 300 }),
    )
    const result = await backtested([LOGGED], candidate, ALL, [310])
    expect(result.exact_share).toBe(1)
    expect(result.features.map(({ map }) => map)).toEqual(['exact', 'exact'])
    expect(result.scores.mean).toBe(computeMean(truth(candidate, ALL)))
    const approved = truth(candidate, ALL).filter((score) => score >= 310).length
    expect(result.swap_set?.challenger_approval_rate).toBe(approved / ALL.length)
  })

  test('less one feature is exact', async () => {
    const candidate = readCard(card([AGE], SCALE))
    const result = await backtested([LOGGED], candidate, ALL)
    expect(result.exact_share).toBe(1)
    expect(result.scores.mean).toBe(computeMean(truth(candidate, ALL)))
  })
})

test('a candidate whose bins are joined logged bins is exact', async () => {
  const age = numeric('age', [
    ['(-Infinity, 40]', 1],
    ['(40, Infinity)', 2],
  ])
  const purpose = categorical('purpose', [
    ['boat%,%car%,%furniture', 5],
    ['Missing', 6],
  ])
  const candidate = readCard(card([age, purpose], SCALE))
  const result = await backtested([LOGGED], candidate, ALL)
  expect(result.exact_share).toBe(1)
  expect(result.scores.mean).toBe(computeMean(truth(candidate, ALL)))
})

test('a moved edge is bounded where it matters, and exact elsewhere', async () => {
  const age = numeric('age', [
    ['(-Infinity, 25]', 0],
    ['(25, 30]', 1],
    ['(30, Infinity)', 2],
  ])
  const candidate = readCard(card([age], SCALE))
  const applicants = [10, 28, 35, 50].map((value) => ({ age: value }))
  const result = await backtested([LOGGED], candidate, applicants)
  expect(result.features).toEqual([{ name: 'age', map: 'bounded', exact_share: 0.5 }])
  expect(result.exact_share).toBe(0.5)
  const base = SCALE.base_points
  expect(result.scores.mean_low).toBe(computeMean([base, base + 1, base + 1, base + 2]))
  expect(result.scores.mean_high).toBe(computeMean([base, base + 2, base + 2, base + 2]))
})

test('another logged model of the same applicants narrows a bound', async () => {
  const cuts = numeric('age', [
    ['(-Infinity, 30]', 0],
    ['(30, Infinity)', 2],
    ['Missing', 0],
  ])
  const challenger = readCard(card([cuts], SCALE))
  const candidate = readCard(card([cuts], { base_points: 1 }))
  expect((await backtested([LOGGED], candidate, ALL)).exact_share).toBeLessThan(1)
  const result = await backtested([LOGGED, challenger], candidate, ALL)
  expect(result.exact_share).toBe(1)
  expect(result.scores.mean).toBe(computeMean(truth(candidate, ALL)))
})

test('a feature that no logged model has is impossible, and bounded by its points', async () => {
  const job = categorical('job', [
    ['clerk', 3],
    ['Missing', -4],
  ])
  const candidate = readCard(card([AGE, job], SCALE))
  const result = await backtested([LOGGED], candidate, ALL)
  expect(result.features.map(({ map }) => map)).toEqual(['exact', 'impossible'])
  expect(result.exact_share).toBe(0)
  expect(result.scores.mean).toBeNull()
  const span = (result.scores.mean_high ?? 0) - (result.scores.mean_low ?? 0)
  expect(span).toBeCloseTo(7, 9)
})

test('a mean over some applicants alone is not told, and nothing of nobody', async () => {
  const age = numeric('age', [
    ['(-Infinity, 25]', 0],
    ['(25, 30]', 1],
    ['(30, Infinity)', 2],
  ])
  const candidate = readCard(card([age], SCALE))
  const some = await backtested([LOGGED], candidate, [{ age: 10 }, { age: 28 }])
  expect(some).toMatchObject({ exact_share: 0.5, scores: { mean: null } })
  const none = await backtested([LOGGED], candidate, [])
  expect(none).toMatchObject({ n: 0, scores: { mean: null, mean_low: null } })
  expect(none.features).toEqual([{ name: 'age', map: null, exact_share: null }])
})

test('an unseen category that the candidate knows is bounded', async () => {
  const purpose = categorical('purpose', [
    ['plane', 3],
    ['Missing', 1],
  ])
  const candidate = readCard(card([purpose], SCALE))
  const applicants = ['plane', 'house', 'car'].map((value) => ({ purpose: value }))
  const result = await backtested([LOGGED], candidate, applicants)
  expect(result.exact_share).toBeCloseTo(1 / 3, 12)
})

describe('for random cards and values', () => {
  const points = fc.double({ min: -50, max: 50, noNaN: true })
  const edges = fc.uniqueArray(fc.integer({ min: -5, max: 5 }), { minLength: 1, maxLength: 4 })
  const numericFeature = fc
    .tuple(edges, fc.boolean(), fc.boolean(), fc.array(points, { minLength: 7, maxLength: 7 }))
    .map(([cuts, isLeft, hasMissing, all]) => {
      const sorted = [-Infinity, ...cuts.sort((a, b) => a - b), Infinity]
      const bins = sorted.slice(1).map((high, index): [string, number] => {
        const low = sorted[index] ?? -Infinity
        return [isLeft ? `[${low}, ${high})` : `(${low}, ${high}]`, all[index] ?? 0]
      })
      // A hole, now and then.
      const kept = bins.filter((_, index) => bins.length < 3 || index !== 1)
      return numeric('x', hasMissing ? [...kept, ['Missing', all[6] ?? 0]] : kept)
    })
  const categoricalFeature = fc
    .tuple(
      fc.shuffledSubarray(['a', 'b', 'c', '1', '2']),
      fc.boolean(),
      fc.tuple(points, points, points),
    )
    .map(([texts, hasMissing, [one, two, missing]]) => {
      const bins: [string, number][] = []
      if (texts.length > 0) bins.push([texts.slice(0, 2).join('%,%'), one])
      if (texts.length > 2) bins.push([texts.slice(2).join('%,%'), two])
      if (hasMissing || bins.length === 0) bins.push(['Missing', missing])
      return categorical('y', bins)
    })
  const specs = fc
    .tuple(numericFeature, categoricalFeature, points)
    .map(([x, y, base]) => readCard(card([x, y], { base_points: base }) as ScorecardSpec))
  const applicants = fc.record({
    x: fc.oneof(
      fc.constantFrom<number | string | null>(null, 'text', '1'),
      fc.integer({ min: -6, max: 6 }),
      fc.double({ min: -6, max: 6, noNaN: true }),
    ),
    y: fc.constantFrom<number | string | null>(null, 'a', 'b', 'c', 'd', '1', 1, 2, 3, 'Missing'),
  })

  // A bound that does not hold is a wrong answer that looks like a right one.
  test('the true score lies within the bounds', async () => {
    await fc.assert(
      fc.asyncProperty(
        specs,
        specs,
        specs,
        applicants,
        async (one, other, candidate, applicant) => {
          const { scores, exact_share } = await backtested([one, other], candidate, [applicant])
          const score = scored(candidate, applicant).score
          expect(scores.mean_low).toBeLessThanOrEqual(score)
          expect(scores.mean_high).toBeGreaterThanOrEqual(score)
          if (exact_share === 1) expect(scores.mean_low).toBe(score)
        },
      ),
      { numRuns: 500 },
    )
  })

  // A wider bound holds, too, and says less than the log knows.
  test('some values with the same logged bins attain both bounds', async () => {
    const edges = Array.from({ length: 13 }, (_, index) => index - 6)
    const xs = [
      ...[null, 'text', -1e9, 1e9],
      ...edges.flatMap((edge) => [edge, edge + 0.5, nextUp(edge), -nextUp(-edge)]),
    ]
    const ys = [null, 'a', 'b', 'c', 'd', '1', '2', '3', 'Missing']
    await fc.assert(
      fc.asyncProperty(
        specs,
        specs,
        specs,
        applicants,
        async (one, other, candidate, applicant) => {
          const { scores } = await backtested([one, other], candidate, [applicant])
          const readCells = (of: Applicant) => [one, other].map((own) => scored(own, of).cells)
          const logged = readCells(applicant)
          const isAlike = (of: Applicant, feature: 0 | 1) =>
            readCells(of).every((cells, own) => cells[feature] === logged[own]?.[feature])
          const possible = [...xs, applicant['x'] ?? null]
            .filter((x) => isAlike({ x, y: null }, 0))
            .flatMap((x) =>
              [...ys, applicant['y'] ?? null]
                .filter((y) => isAlike({ x: null, y }, 1))
                .map((y) => scored(candidate, { x, y }).score),
            )
          expect(Math.min(...possible)).toBe(scores.mean_low)
          expect(Math.max(...possible)).toBe(scores.mean_high)
        },
      ),
      { numRuns: 200 },
    )
  })
})

// The first table of the monitoring tests: a cell that is empty on one side counts as half an
// applicant, after which shares are taken anew.
test('the stability index is that of monitoring, with its rule for empty bands', () => {
  const bands = new ScoreBands(0, 99)
  const counts = { served: [40, 30, 20, 10, 0], exact: [35, 30, 20, 10, 5] }
  const computeScores = (of: readonly number[]) =>
    of.flatMap((count, band) => Array.from({ length: count }, () => 20 * band + 1))
  const served = computeScores(counts.served)
  for (const [index, score] of computeScores(counts.exact).entries()) {
    bands.add(score, score, served[index] ?? 0)
  }
  expect(bands.stability).toMatchObject({ n: 100, zero_bins: 1, zero_fill: 0.5 })
  expect(bands.stability.psi).toBeCloseTo(0.11008444293742667, 14)
})
