/** Reasons against worked examples and against a second evaluator, see docs/decisions.md 10.2. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  compileModel,
  computeScoreRange,
  ModelScore,
  ReasonFinder,
  scoreApplicant,
} from '../../../src/engine/index.ts'
import {
  compiledCard,
  dmgCard,
  foundReasons,
  worksheetCard,
} from '../../support/cards/reason-cards.ts'
import { applicantFor, validSpec } from '../../support/cards/spec-arbitraries.ts'
import { evaluateNaively, type NaiveSpec } from '../../support/naive/naive-evaluator.ts'
import { naiveReasons } from '../../support/naive/naive-reasons.ts'

const WORKSHEET = { tenure: 0, income: 0, util: 0, inquiries: 0 }

describe('worked examples', () => {
  test('the sample card of the DMG gives age, then department, and nothing third', () => {
    const applicant = { department: 'engineering', age: 25, income: 500 }
    const { score, reasons, isTruncated } = foundReasons(dmgCard(), applicant)
    expect(score).toBe(29)
    expect(reasons).toEqual([
      { code: 'RC2', distance: 18, features: ['age'] },
      { code: 'RC1', distance: 16, features: ['department'] },
    ])
    expect(isTruncated).toBe(false)
  })

  test('the code of a bin wins over that of its feature', () => {
    const { reasons } = foundReasons(dmgCard(), { department: 'marketing', age: 17, income: 500 })
    expect(reasons.map(({ code }) => code)).toEqual(['RC2_2', 'RC1'])
  })

  test('a missing value has the code of the Missing bin, an unseen category too', () => {
    const card = dmgCard()
    const [department] = card.features
    Object.assign(department?.bins[3] ?? {}, { reason_code: 'RC3' })
    for (const department of [null, 'law']) {
      const { reasons } = foundReasons(card, { department, age: 40, income: 500 })
      expect(reasons).toEqual([{ code: 'RC3', distance: 19, features: ['department'] }])
    }
    const { reasons } = foundReasons(card, { department: 'marketing', age: 'x', income: 500 })
    expect(reasons[0]).toEqual({ code: 'RC2', distance: 18, features: ['age'] })
  })

  test.each([
    [
      'positive',
      [
        ['R07', 20.9],
        ['R02', 17.4],
        ['R09', 5.1],
      ],
    ],
    [
      'net',
      [
        ['R07', 19.1],
        ['R02', 17.4],
        ['R09', 5.1],
      ],
    ],
    [
      'max',
      [
        ['R07', 20.9],
        ['R02', 17.4],
        ['R09', 5.1],
      ],
    ],
  ])('features with one code are joined by %s', (aggregate, expected) => {
    const card = worksheetCard({ method: 'fixed', baseline_basis: 'mean', aggregate })
    const { reasons } = foundReasons(card, WORKSHEET)
    expect(reasons.map(({ code, distance }) => [code, distance])).toEqual(expected)
    expect(reasons[0]?.features).toEqual(['util'])
  })

  test('points below the best give the reasons of the method max', () => {
    const { reasons } = foundReasons(worksheetCard({ method: 'max' }), WORKSHEET)
    expect(reasons.map(({ code, distance }) => [code, distance])).toEqual([
      ['R07', 46],
      ['R02', 30],
      ['R09', 12],
    ])
    expect(reasons[0]?.features).toEqual(['income', 'util'])
  })

  test('counts of the development sample are the averages until scores give others', () => {
    const card = worksheetCard({ method: 'mean_all' })
    const counts = [
      [30, 10, 0],
      [2, 8, 0],
      [1, 1, 2],
      [6, 3, 3],
    ]
    for (const [index, { bins }] of card.features.entries()) {
      for (const [bin, count] of (counts[index] ?? []).entries()) {
        Object.assign(bins[bin] ?? {}, { baseline_count: count })
      }
    }
    const { means, populationN } = compiledCard(card).means
    // (30 * 10 + 10 * 40) / 40, (2 * 20 + 8 * 30) / 10, (3 * 4 + 40) / 4, 3 * 12 / 12
    expect([...means]).toEqual([17.5, 28, 13, 3])
    expect(populationN).toBe(40)
  })
})

describe('what a list holds', () => {
  test('nothing fills a list, and an applicant without a lost point has no reason', () => {
    const best = { tenure: 1, income: 1, util: 1, inquiries: 1 }
    expect(foundReasons(worksheetCard(), best)).toMatchObject({
      reasons: [],
      isEmpty: true,
      isTruncated: false,
      keyFactors: [],
    })
  })

  test('a list says when it leaves out a reason as large as its last', () => {
    const card = worksheetCard()
    Object.assign(card.features[3] ?? {}, { reason_baseline: 17.4 })
    expect(foundReasons(card, WORKSHEET, 2)).toMatchObject({
      isTruncated: true,
      reasons: [{ code: 'R07' }, { code: 'R02' }],
    })
    expect(foundReasons(card, WORKSHEET, 1).isTruncated).toBe(false)
    expect(foundReasons(card, WORKSHEET, 3).isTruncated).toBe(false)
  })

  test('a distance of at most the least one, and an ineligible feature, are no reasons', () => {
    const card = worksheetCard({ method: 'fixed', baseline_basis: 'mean', min_distance: 5.1 })
    Object.assign(card.features[0] ?? {}, { reason_eligible: false, reason_baseline: undefined })
    expect(foundReasons(card, WORKSHEET).reasons.map(({ code }) => code)).toEqual(['R07'])
  })

  test('key factors come from consumer reports, and inquiries may be the fifth', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const card = {
      ...worksheetCard(),
      features: names.map((name, index) => ({
        name,
        type: 'numeric',
        reason_baseline: 10 - index,
        source: name === 'b' ? 'application' : 'consumer_report',
        inquiry_factor: name === 'f',
        bins: [{ range: '(-Infinity, Infinity)', points: 0 }],
      })),
    }
    expect(foundReasons(card, {}).keyFactors).toEqual(['a', 'c', 'd', 'e', 'f'])
    Object.assign(card.features[5] ?? {}, { inquiry_factor: false })
    expect(foundReasons(card, {}).keyFactors).toEqual(['a', 'c', 'd', 'e'])
  })
})

/** A random card with baselines, codes and eligibility drawn beside it. */
const explained = validSpec().chain((spec) =>
  fc.record({
    spec: fc.constant(spec as NaiveSpec),
    applicants: fc.array(applicantFor(spec), { minLength: 4, maxLength: 4 }),
    aggregate: fc.constantFrom('positive', 'net', 'max'),
    features: fc.array(
      fc.record({
        baseline: fc.integer({ min: -9_000, max: 9_000 }).map((n) => n / 30),
        code: fc.constantFrom('A', 'B', 'C', undefined),
        isEligible: fc.nat(5).map((n) => n > 0),
      }),
      { minLength: spec.features.length, maxLength: spec.features.length, size: 'max' },
    ),
  }),
)

describe('random cards', () => {
  test('reasons are those of a second evaluator', () => {
    fc.assert(
      fc.property(explained, ({ spec, applicants, aggregate, features }) => {
        const card = withReasons(spec, features, aggregate)
        fc.pre(features.some(({ isEligible }) => isEligible) && hasSmallPoints(spec))
        for (const applicant of applicants) {
          const naive = evaluateNaively(spec, applicant)
          if (naive.invalid.length > 0) continue
          const factors = features.map(({ baseline, code, isEligible }, index) => {
            const [name, points] = naive.contributions[index] ?? ['', 0]
            return { name, code: code ?? name, points, baseline, isEligible }
          })
          const sign = spec.scaling.pdo < 0 ? -1 : 1
          const expected = naiveReasons(factors, sign, aggregate as 'net')
          const { reasons, isEmpty } = foundReasons(card, applicant, 1_000)
          expect(reasons).toEqual(expected)
          expect(isEmpty).toBe(expected.length === 0)
        }
      }),
      { numRuns: 150 },
    )
  })

  // The distances are Shapley values: they account for the whole difference.
  test('distances add up to the average total less the score, in the direction of risk', () => {
    fc.assert(
      fc.property(explained, ({ spec, applicants, features }) => {
        fc.pre(hasSmallPoints(spec))
        const eligible = features.map((feature) => ({
          ...feature,
          isEligible: true,
          code: undefined,
        }))
        const total = features.reduce((sum, { baseline }) => sum + baseline, spec.base_points)
        const sign = spec.scaling.pdo < 0 ? -1 : 1
        for (const applicant of applicants) {
          const naive = evaluateNaively(spec, applicant)
          if (naive.invalid.length > 0) continue
          const { model, rules, means } = compiledCard(withReasons(spec, eligible, 'positive'))
          const score = new ModelScore(model)
          scoreApplicant(applicant, score)
          const finder = new ReasonFinder(model, rules, means)
          let sum = 0
          for (const index of model.features.keys()) {
            sum += finder.readDistance(score.slots[index] ?? 0)
          }
          expect(sum).toBeCloseTo(sign * (total - naive.score), 4)
        }
      }),
      { numRuns: 150 },
    )
  })

  test('a mirrored card gives the same reasons', () => {
    fc.assert(
      fc.property(explained, ({ spec, applicants, aggregate, features }) => {
        fc.pre(features.some(({ isEligible }) => isEligible) && hasSmallPoints(spec))
        const card = withReasons(spec, features, aggregate)
        const mirrored = withReasons(
          mirror(spec),
          features.map((feature) => ({ ...feature, baseline: -feature.baseline })),
          aggregate,
        )
        for (const applicant of applicants) {
          if (evaluateNaively(spec, applicant).invalid.length > 0) continue
          expect(foundReasons(mirrored, applicant).reasons).toEqual(
            foundReasons(card, applicant).reasons,
          )
        }
      }),
      { numRuns: 150 },
    )
  })

  test('no score lies outside the range of a card', () => {
    fc.assert(
      fc.property(explained, ({ spec, applicants }) => {
        const { min, max } = computeScoreRange(compileModel(spec as never))
        for (const applicant of applicants) {
          const { invalid, score, cells } = evaluateNaively(spec, applicant)
          if (invalid.length > 0 || cells.includes(2)) continue
          expect(score).toBeGreaterThanOrEqual(min - 1e-9 * Math.abs(min))
          expect(score).toBeLessThanOrEqual(max + 1e-9 * Math.abs(max))
        }
      }),
      { numRuns: 200 },
    )
  })
})

test('the range counts 0 for a hole and for a missing value, not for a text', () => {
  const card = (bins: object[]) =>
    compiledCard({
      ...worksheetCard(),
      base_points: 100,
      features: [{ name: 'a', type: 'numeric', reason_baseline: 0, bins }],
    }).model
  const whole = { range: '(-Infinity, Infinity)', points: 5 }
  expect(computeScoreRange(card([whole, { range: 'Missing', points: 7 }]))).toEqual({
    min: 105,
    max: 107,
  })
  expect(computeScoreRange(card([whole]))).toEqual({ min: 100, max: 105 })
  const holed = { range: '(0, Infinity)', points: 5 }
  expect(computeScoreRange(card([holed, { range: 'Missing', points: 7 }]))).toEqual({
    min: 100,
    max: 107,
  })
})

interface DrawnFeature {
  baseline: number
  code: string | undefined
  isEligible: boolean
}

/** Rounding to six decimals by two ways agrees where a double has them. */
function hasSmallPoints(spec: NaiveSpec): boolean {
  const bins = spec.features.flatMap((feature) => feature.bins)
  if (Math.abs(spec.base_points) > 1e5) return false
  return bins.every(({ points }) => Number.isInteger(points * 100) && Math.abs(points) < 1e5)
}

function withReasons(spec: NaiveSpec, features: readonly DrawnFeature[], aggregate: string) {
  return {
    ...spec,
    reasons: { version: 1, method: 'fixed', baseline_basis: 'other', aggregate },
    features: spec.features.map((feature, index) => {
      const { baseline, code, isEligible } = features[index] as DrawnFeature
      return {
        ...feature,
        reason_baseline: baseline,
        reason_eligible: isEligible,
        ...(code !== undefined && { reason_code: code }),
      }
    }),
  }
}

function mirror(spec: NaiveSpec): NaiveSpec {
  const { scaling, risk_grades: _, ...rest } = spec
  return {
    ...rest,
    base_points: -spec.base_points,
    features: spec.features.map((feature) => ({
      ...feature,
      bins: feature.bins.map((bin) => ({ ...bin, points: -bin.points })),
    })),
    scaling: { ...scaling, base_score: -scaling.base_score, pdo: -scaling.pdo },
  }
}
