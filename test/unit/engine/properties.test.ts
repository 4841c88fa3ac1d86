/**
 * The engine against the second opinion in test/support/naive/naive-evaluator.ts, over random specs
 * and applicants. A failure prints the seed and the smallest case; pass them to fc.assert to repeat
 * it.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type CompiledModel,
  checkSpec,
  compileModel,
  isUnmatched,
  ModelScore,
  scoreApplicant,
  unknownVariables,
} from '../../../src/engine/index.ts'
import { FAULT_KINDS, faultySpec, twiceFaultySpec } from '../../support/cards/faulty-specs.ts'
import { applicantFor, validSpec } from '../../support/cards/spec-arbitraries.ts'
import {
  type Applicant,
  evaluateNaively,
  type NaiveGrade,
  type NaiveSpec,
  nextDown,
  nextUp,
} from '../../support/naive/naive-evaluator.ts'

const SPECS = 1_200
/** All of it computes, for ten seconds on an idle machine. */
const TIMEOUT_MS = 1_200_000
const APPLICANTS_PER_SPEC = 20
const SPECS_PER_FAULT = 40
const SPECS_TWICE_FAULTY = 400
const SPECS_FOR_SINGLE_TRAITS = 250
const EXTREME_SCALES = 3_000

const RESERVED = [undefined, 'strict_mode', 'id'] as const

/** A valid spec and applicants for it. */
const cases = (applicants: number) =>
  validSpec().chain((spec) => {
    const length = { minLength: applicants, maxLength: applicants, size: 'max' as const }
    return fc.record({
      spec: fc.constant(spec),
      applicants: fc.array(applicantFor(spec), length),
      reserved: fc.constantFrom(...RESERVED),
    })
  })

function findModel(spec: unknown): CompiledModel {
  const checked = checkSpec(spec)
  if (!checked.ok) throw new Error(`a valid spec is refused: ${JSON.stringify(checked.faults)}`)
  return compileModel(checked.spec)
}

/** Reads what both opinions must agree on from a filled buffer. */
function readScore(model: CompiledModel, modelScore: ModelScore) {
  const features = [...model.featureNames.keys()]
  const listNames = (outcome: ReturnType<ModelScore['readOutcome']>) =>
    model.featureNames.filter((_, feature) => modelScore.readOutcome(feature) === outcome)
  return {
    score: modelScore.score,
    pd: modelScore.pd,
    riskGrade: modelScore.grade,
    contributions: features.map((feature) => [
      model.featureNames[feature],
      modelScore.readPoints(feature),
    ]),
    bins: features.map((feature) => modelScore.readBin(feature)),
    cells: readCells(model, modelScore),
    unmatched: model.featureNames.filter((_, feature) =>
      isUnmatched(modelScore.readOutcome(feature)),
    ),
    missing: listNames('missing'),
    namesNone: modelScore.namedCount === 0,
    invalid: listNames('invalid'),
    counts: [
      modelScore.unmatchedCount,
      modelScore.missingCount,
      modelScore.invalidCount,
      modelScore.unknownCount,
    ],
  }
}

/** -1 for an invalid value. */
const readCells = (model: CompiledModel, { slots }: ModelScore): number[] =>
  Array.from(slots, (slot) => model.cellOfSlot[slot] ?? -1)

type Reading = ReturnType<typeof readScore>

/** What the naive evaluator expects to be read; the reserved name is not an unknown variable. */
function expectedReading(spec: NaiveSpec, applicant: Applicant, reserved?: string) {
  const { unknown, ...rest } = evaluateNaively(spec, applicant)
  const strangers = unknown.filter((name) => name !== reserved)
  const lists = [rest.unmatched, rest.missing, rest.invalid, strangers]
  return { reading: { ...rest, counts: lists.map((list) => list.length) }, strangers }
}

/**
 * Equal to the bit, -0 told from 0: toStrictEqual compares numbers with Object.is. An applicant
 * with an invalid value is rejected, so that only the names to be reported must agree.
 */
function expectSame(actual: Reading, expected: Reading): void {
  if (expected.invalid.length > 0) expect(actual.invalid).toStrictEqual(expected.invalid)
  else expect(actual).toStrictEqual(expected)
}

describe('scores', () => {
  // The fast engine may have no opinion of its own on what a card says.
  test(
    'equal the naive evaluation bit for bit, on one buffer used over and over',
    () => {
      fc.assert(
        fc.property(cases(APPLICANTS_PER_SPEC), ({ spec, applicants, reserved }) => {
          const model = findModel(spec)
          expect(model.featureNames).toStrictEqual(spec.features.map(({ name }) => name))
          const modelScore = new ModelScore(model)
          for (const applicant of applicants) {
            scoreApplicant(applicant, modelScore, reserved)
            const { reading, strangers } = expectedReading(spec, applicant, reserved)
            expectSame(readScore(model, modelScore), reading)
            expect(unknownVariables(modelScore, applicant, reserved)).toStrictEqual(strangers)
          }
        }),
        { numRuns: SPECS },
      )
    },
    TIMEOUT_MS,
  )

  // A value left over from the applicant before would decide about the next one.
  test('do not depend on what the buffer held before, a rejected applicant included', () => {
    fc.assert(
      fc.property(cases(6), ({ spec, applicants }) => {
        const model = findModel(spec)
        const used = new ModelScore(model)
        const rejected = Object.fromEntries(spec.features.map(({ name }) => [name, []]))
        for (const applicant of applicants.flatMap((next) => [rejected, next])) {
          const fresh = new ModelScore(model)
          scoreApplicant(applicant, used)
          scoreApplicant(applicant, fresh)
          expectSame(readScore(model, used), readScore(model, fresh))
        }
      }),
      { numRuns: SPECS_FOR_SINGLE_TRAITS },
    )
  })

  // Points are summed on the way only while the keys stand as in the spec.
  test('equal the naive evaluation to the bit in every order of the keys', () => {
    const draws = fc.array(fc.nat(), { minLength: 1, maxLength: 16 })
    fc.assert(
      fc.property(cases(4), draws, ({ spec, applicants }, order) => {
        const model = findModel(spec)
        const modelScore = new ModelScore(model)
        for (const applicant of applicants) {
          const entries = Object.entries(applicant)
          for (const [at, drawn] of order.entries()) {
            entries.splice(
              drawn % (entries.length + 1),
              0,
              ...entries.splice(at % entries.length, 1),
            )
          }
          const shuffled = Object.fromEntries(entries)
          scoreApplicant(shuffled, modelScore)
          expectSame(readScore(model, modelScore), expectedReading(spec, shuffled).reading)
        }
      }),
      { numRuns: SPECS_FOR_SINGLE_TRAITS },
    )
  })

  // Reproducible from the answer alone: the caller can add the contributions up himself.
  test('are the base points plus the contributions in spec order', () => {
    fc.assert(
      fc.property(cases(3), ({ spec, applicants }) => {
        const model = findModel(spec)
        const modelScore = new ModelScore(model)
        for (const applicant of applicants) {
          scoreApplicant(applicant, modelScore)
          const { score, invalid, contributions } = readScore(model, modelScore)
          const sum = contributions.reduce(
            (total, [, points]) => total + Number(points),
            spec.base_points,
          )
          if (invalid.length === 0) expect(score).toBe(sum)
        }
      }),
      { numRuns: SPECS_FOR_SINGLE_TRAITS },
    )
  })
})

/** Ways to cut the grades exactly at `score`, or at the doubles beside it. */
function gradesAround(score: number): NaiveGrade[][] {
  const [below, above] = [nextDown(score), nextUp(score)]
  const ways: Array<Array<[number | null, number | null]>> = [
    [
      [null, score],
      [score, null],
    ],
    [
      [score, null],
      [null, score],
    ],
    [
      [null, below],
      [score, null],
    ],
    [
      [null, below],
      [above, null],
    ],
    [
      [above, null],
      [null, score],
    ],
    [[score, score]],
    [
      [null, score],
      [score, score],
      [above, null],
    ],
  ]
  return ways.map((ranges) =>
    ranges.map(([min_score, max_score], index) => ({ grade: `${index}`, min_score, max_score })),
  )
}

// Random grade ranges seldom end exactly on a score; there a wrong comparison changes the decision.
test('a grade that starts or ends exactly on the score is the one the naive evaluator names', () => {
  fc.assert(
    fc.property(cases(1), ({ spec, applicants: [applicant = {}] }) => {
      const { score, invalid } = evaluateNaively(spec, applicant)
      fc.pre(invalid.length === 0)
      for (const risk_grades of gradesAround(score)) {
        const model = findModel({ ...spec, risk_grades })
        const modelScore = new ModelScore(model)
        scoreApplicant(applicant, modelScore)
        const expected = evaluateNaively({ ...spec, risk_grades }, applicant)
        expect(modelScore.grade).toBe(expected.riskGrade)
      }
    }),
    { numRuns: SPECS_FOR_SINGLE_TRAITS },
  )
})

// Scales beyond reason are legal as long as they are finite; a PD outside [0, 1] is not.
test('a probability of default is never NaN and never leaves 0 to 1, however extreme the scale', () => {
  const anyDouble = fc.double({ noNaN: true, noDefaultInfinity: true })
  const scaling = fc.record({
    base_score: anyDouble,
    base_odds: fc.double({ min: 5e-324, noNaN: true, noDefaultInfinity: true }),
    pdo: anyDouble.filter((pdo) => pdo !== 0),
  })
  fc.assert(
    fc.property(scaling, anyDouble, (scale, points) => {
      const bins = [{ range: '(-Infinity, Infinity)', points }]
      const card = { name: 'n', version: '1', target: 't', base_points: 0, scaling: scale }
      const checked = checkSpec({ ...card, features: [{ name: 'x', type: 'numeric', bins }] })
      if (!checked.ok) return // a scale may be refused as too extreme, never scored wrongly
      const model = compileModel(checked.spec)
      const modelScore = new ModelScore(model)
      scoreApplicant({ x: 1 }, modelScore)
      expect(modelScore.pd).toBeGreaterThanOrEqual(0)
      expect(modelScore.pd).toBeLessThanOrEqual(1)
    }),
    { numRuns: EXTREME_SCALES },
  )
})

/** Whether a reported path is one of the planted places or lies under one. */
const isAt = (paths: string[]) => (reported: string) =>
  paths.some((path) => `${reported}.`.startsWith(`${path}.`) || reported.startsWith(`${path}[`))

function faultPaths(spec: unknown): string[] {
  const checked = checkSpec(spec)
  return checked.ok ? [] : checked.faults.map(({ path }) => path)
}

describe('faulty specs', () => {
  // A card that is read otherwise than it was meant must not be deployed, and blame must be exact.
  test.each(FAULT_KINDS)('with $about are refused at that place and no other', (kind) => {
    fc.assert(
      fc.property(faultySpec([kind]), ({ spec, paths }) => {
        const reported = faultPaths(spec)
        expect(reported).not.toEqual([])
        expect(reported.filter((path) => !isAt(paths)(path))).toEqual([])
      }),
      { numRuns: SPECS_PER_FAULT },
    )
  })

  // 422 reports all faults at once, so that a modeler does not mend them one deploy at a time.
  test('with two faults in different places are refused with both', () => {
    fc.assert(
      fc.property(twiceFaultySpec(), ({ spec, faults }) => {
        const reported = faultPaths(spec)
        expect(faults.filter(({ paths }) => !reported.some(isAt(paths)))).toEqual([])
        const allPaths = faults.flatMap(({ paths }) => paths)
        expect(reported.filter((path) => !isAt(allPaths)(path))).toEqual([])
      }),
      { numRuns: SPECS_TWICE_FAULTY },
    )
  })

  test.each([undefined, null, 5, 'spec', true, [], [{}]])(
    'are refused when no object: %j',
    (spec) => {
      expect(checkSpec(spec).ok).toBe(false)
    },
  )
})

// Random cards almost never hold -0 alone. A feature without a bin adds 0, and -0 + 0 is 0.
test('a sum of nothing but -0 is -0, and 0 as soon as a feature without a bin is in it', () => {
  const bins = [{ range: '(0, 1]', points: -0 }]
  const scaling = { base_score: 0, base_odds: 1, pdo: 1 }
  const card = { name: 'n', version: '1', target: 't', base_points: -0, scaling }
  const spec: NaiveSpec = { ...card, features: [{ name: 'x', type: 'numeric', bins }] }
  const modelScore = new ModelScore(findModel(spec))
  for (const [applicant, score] of [
    [{ x: 1 }, -0],
    [{}, 0],
    [{ x: 2 }, 0],
  ] as const) {
    scoreApplicant(applicant, modelScore)
    expect([modelScore.score, evaluateNaively(spec, applicant).score]).toStrictEqual([score, score])
  }
})

// The limits themselves are allowed: a card at the limit must not be turned away.
test('a spec of 1,000 features and one of 1,000 bins are accepted and scored', () => {
  const bins = Array.from({ length: 1000 }, (_, n) => ({ range: `(${n}, ${n + 1}]`, points: n }))
  const few = Array.from({ length: 1000 }, (_, n) => ({
    name: `f${n}`,
    type: 'numeric',
    bins: [bins[1]],
  }))
  const scaling = { base_score: 600, base_odds: 50, pdo: 20 }
  const card = { name: 'n', version: '1', target: 't', base_points: 0, scaling }
  const wide = findModel({ ...card, features: few })
  const wideScore = new ModelScore(wide)
  scoreApplicant({ f0: 2, f999: 1.5 }, wideScore)
  expect([wideScore.score, wideScore.missingCount]).toEqual([2, 998])
  const deep = findModel({ ...card, features: [{ name: 'x', type: 'numeric', bins }] })
  const deepScore = new ModelScore(deep)
  scoreApplicant({ x: 1000 }, deepScore)
  expect([deepScore.score, deepScore.readBin(0)]).toEqual([999, 999])
})
