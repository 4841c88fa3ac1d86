import { expect, test } from 'vitest'
import { checkSpec, checkStoredSpec, compileModel } from '../../../src/engine/index.ts'

const AGE = {
  name: 'age',
  type: 'numeric',
  bins: [
    { range: '(-Infinity, 25]', points: -12 },
    { range: '(25, Infinity)', points: 9.5 },
    { range: 'Missing', points: 0 },
  ],
}
const VALID = {
  name: 'Card',
  version: '1.0.0',
  target: 'default_12m',
  base_points: 480,
  features: [AGE],
  scaling: { base_score: 600, base_odds: 50, pdo: 20 },
}

function findFaults(change: object): Record<string, string> {
  const check = checkSpec({ ...VALID, ...change })
  return check.ok
    ? {}
    : Object.fromEntries(check.faults.map((fault) => [fault.path, fault.message]))
}

function readWarnings(change: object): string[] {
  const check = checkSpec({ ...VALID, ...change })
  return check.ok
    ? check.warnings.map((warning) => `${warning.path} ${warning.message}`)
    : ['faulty']
}

// A modeler who is told one fault per upload gives up; so each upload tells all of them.
test('faults in every part of a spec are reported at once, each at its path', () => {
  const paths = Object.keys(
    findFaults({
      name: '',
      spec_version: '2.0',
      base_points: '480',
      features: [
        { ...AGE, bins: [...AGE.bins, { range: '(20, 30]', points: null }] },
        {
          ...AGE,
          type: 'categorical',
          bins: [
            { value: 'a%,%b', points: 1 },
            { value: 'b', points: 1 },
          ],
        },
        { name: 'id', type: 'ordinal', bins: [] },
      ],
      scaling: { base_score: 600, base_odds: 0, pdo: 0 },
      risk_grades: [
        { grade: 'A', min_score: 500, max_score: null },
        { grade: '', min_score: 400, max_score: 501 },
      ],
    }),
  )
  expect(new Set(paths)).toEqual(
    new Set([
      'name',
      'spec_version',
      'base_points',
      'features[0].bins[1].range',
      'features[0].bins[3].range',
      'features[0].bins[3].points',
      'features[1].name',
      'features[1].bins[1].value',
      'features[2].name',
      'features[2].type',
      'features[2].bins',
      'scaling.base_odds',
      'scaling.pdo',
      'risk_grades[0].min_score',
      'risk_grades[1].grade',
    ]),
  )
})

test.each([
  ['an empty list of features', { features: [] }, 'features'],
  ['an empty list of bins', { features: [{ ...AGE, bins: [] }] }, 'features[0].bins'],
  ['an empty feature name', { features: [{ ...AGE, name: '' }] }, 'features[0].name'],
  [
    'a grade without an end',
    { risk_grades: [{ grade: 'A', min_score: 1 }] },
    'risk_grades[0].max_score',
  ],
  [
    'woe_values of another length',
    { features: [{ ...AGE, woe_values: [1] }] },
    'features[0].woe_values',
  ],
  ['NUL in a name, which no database keeps', { name: 'a\0b' }, 'name'],
  ['a scale that overflows', { scaling: { base_score: 0, base_odds: 50, pdo: 1e308 } }, 'scaling'],
  [
    'a scale of no finite factor',
    { scaling: { base_score: 0, base_odds: 1, pdo: 1.7e308 } },
    'scaling',
  ],
])('%s is refused', (_what, change, path) => {
  expect(Object.keys(findFaults(change))).toEqual([path])
})

// JSON.parse makes Infinity of 1e400, and JSON.stringify makes null of that.
test('a number beyond the range of a double is refused wherever it stands', () => {
  const huge = JSON.parse('1e400')
  const message = 'is beyond the range of a double'
  const bins = [{ range: '(-Infinity, 25]', points: -12, note: [1, { low: -huge }] }]
  expect(findFaults({ origin: { 'auc.dev': huge }, features: [{ ...AGE, bins }] })).toEqual({
    'origin.auc.dev': message,
    'features[0].bins[0].note[1].low': message,
  })
  const check = checkSpec({ ...VALID, base_points: huge, name: '' })
  expect(check.ok || check.faults.map(({ path }) => path)).toEqual(['name', 'base_points'])
  // A card that an earlier release stored has null in its place.
  expect(checkStoredSpec({ ...VALID, origin: null }).ok).toBe(true)
})

// JSON has no infinite number: such a score could not be answered.
test("points whose sum can overflow a double are refused, those that can't are accepted", () => {
  const big = (points: number) => [{ range: '(-Infinity, Infinity)', points }]
  const features = (first: number, second: number) => ({
    features: [
      { name: 'a', type: 'numeric', bins: big(first) },
      { name: 'b', type: 'numeric', bins: big(second) },
    ],
  })
  expect(Object.keys(findFaults(features(1e308, 1e308)))).toEqual(['features'])
  expect(Object.keys(findFaults({ ...features(-1e308, 1), base_points: -1e308 }))).toEqual([
    'features',
  ])
  expect(findFaults(features(1e308, -1e308))).toEqual({})
})

test('a hole between bins, at an end, or between grades, and a feature without Missing bin warn', () => {
  const bins = [
    { range: '[0, 5)', points: 1 },
    { range: '(5, 9]', points: 1 },
  ]
  const grades = [
    { grade: 'A', min_score: 700, max_score: null },
    { grade: 'B', min_score: null, max_score: 699.99 },
  ]
  expect(readWarnings({ features: [{ ...AGE, bins }], risk_grades: grades })).toEqual([
    'features[0].bins numbers below bins[0] match no bin and add 0 points',
    'features[0].bins numbers between bins[0] and bins[1] match no bin and add 0 points',
    'features[0].bins numbers above bins[1] match no bin and add 0 points',
    'features[0].bins have no Missing bin: a missing value adds 0 points',
    'risk_grades[0] scores between 699.99 and 700 have no grade',
  ])
  expect(readWarnings({})).toEqual([])
})

test('a nesting that would overflow the stack of whoever writes it is refused', () => {
  const deep = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)
  expect(findFaults({ note: deep })).toEqual({ spec: 'is nested deeper than 100 levels' })
})

// Names stand in every answer, categories in memory: without bounds one card is everyone's trouble.
test('names, categories and their number are bounded', () => {
  const named = (name: string) => ({ features: [{ ...AGE, name }] })
  expect(findFaults(named('n'.repeat(255)))).toEqual({})
  expect(Object.keys(findFaults(named('n'.repeat(256))))).toEqual(['features[0].name'])
  const valued = (value: string) => ({
    features: [{ name: 'region', type: 'categorical', bins: [{ value, points: 1 }] }],
  })
  expect(findFaults(valued('c'.repeat(1_000)))).toEqual({})
  expect(Object.keys(findFaults(valued('c'.repeat(1_001))))).toEqual(['features[0].bins[0].value'])
  const codes = (count: number) => Array.from({ length: count }, (_, n) => n).join('%,%')
  expect(findFaults(valued(codes(100_000)))).toEqual({})
  expect(findFaults(valued(codes(100_001)))).toEqual({
    features: 'must have at most 100000 categories together, but have 100001',
  })
  const graded = (grade: string) => ({ risk_grades: [{ grade, min_score: null, max_score: null }] })
  expect(Object.keys(findFaults(graded('g\0')))).toEqual(['risk_grades[0].grade'])
})

// One card of 450,000 bins held up the scores of all other teams for seconds.
test('bins and categories are bounded over all features of a card together', () => {
  const features = (count: number, bins: (feature: number) => object[], type = 'numeric') =>
    Array.from({ length: count }, (_, n) => ({ name: `f${n}`, type, bins: bins(n) }))
  const ranges = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ range: `(${n}, ${n + 1}]`, points: 1 }))
  expect(findFaults({ features: features(200, () => ranges(100)) })).toEqual({})
  const one = { name: 'one more', type: 'numeric', bins: ranges(1) }
  expect(findFaults({ features: [...features(200, () => ranges(100)), one] })).toEqual({
    features: 'must have at most 20000 bins together, but have 20001',
  })
  const values = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => from + n).join('%,%')
  const halves = (count: number) =>
    features(2, (n) => [{ value: values(n, count), points: 1 }], 'categorical')
  expect(findFaults({ features: halves(50_000) })).toEqual({})
  expect(findFaults({ features: halves(50_001) })).toEqual({
    features: 'must have at most 100000 categories together, but have 100002',
  })
})

const risk_grades = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ grade: `g${n}`, min_score: n, max_score: n + 1 }))

// 75,000 grades took 45 MB of every process that served the card, outside of its bound.
test('a card has at most 1,000 risk grades, and each of them counts in its weight', () => {
  expect(findFaults({ risk_grades: risk_grades(1_000) })).toEqual({})
  expect(findFaults({ risk_grades: risk_grades(1_001) })).toEqual({
    risk_grades: 'must be at most 1000, but are 1001',
  })
  const computeWeight = (count: number) => {
    const check = checkStoredSpec({ ...VALID, risk_grades: risk_grades(count) })
    return check.ok ? compileModel(check.spec).sizeBytes : Number.NaN
  }
  // Three times that is what a served model counts: 160 bytes and its name are what a grade takes.
  expect(3 * (computeWeight(75_000) - computeWeight(0))).toBeGreaterThan(75_000 * (160 + 10 * 4))
})

test('unknown properties are left alone', () => {
  const check = checkSpec({ ...VALID, exported_by: { tool: 'x' } })
  expect(check).toMatchObject({ ok: true, spec: { exported_by: { tool: 'x' } } })
})

// An invented scale would answer invented probabilities; a forgotten one must not go unnoticed.
test('scaling is required, unless has_pd is false, where it must be left out', () => {
  expect(findFaults({ has_pd: false, scaling: undefined })).toEqual({})
  expect(findFaults({ has_pd: true })).toEqual({})
  expect(findFaults({ has_pd: false })).toEqual({
    scaling: 'must be left out when has_pd is false',
  })
  expect(findFaults({ has_pd: false, scaling: null })).toHaveProperty('scaling')
  for (const has_pd of [true, undefined]) {
    expect(findFaults({ has_pd, scaling: undefined })).toEqual({
      scaling: 'must be an object, but is missing',
    })
    expect(findFaults({ has_pd, scaling: null })).toHaveProperty('scaling')
  }
  for (const has_pd of [null, 0, 'false', {}]) {
    expect(findFaults({ has_pd, scaling: undefined })).toHaveProperty('has_pd')
    expect(findFaults({ has_pd })).toHaveProperty('has_pd')
  }
})

test.each([undefined, null, 7, 'spec', [], [VALID]])('%j is not a spec', (input) => {
  const check = checkSpec(input)
  expect(check.ok ? [] : check.faults.map((fault) => fault.path)).toEqual(['spec'])
})

// A spec with a million faults must not be answered with a gigabyte.
test('beyond ten thousand, faults are counted rather than listed', () => {
  const bins = Array.from({ length: 1_000 }, () => ({}))
  const features = Array.from({ length: 6 }, (_, n) => ({ ...AGE, name: `age ${n}`, bins }))
  const check = checkSpec({ ...VALID, features })
  const { faults, faultCount } = check.ok ? { faults: [], faultCount: 0 } : check
  // Range and points of each bin.
  expect(faultCount).toBe(12_000)
  expect(faults.length).toBe(10_001)
  expect(faults.at(-1)?.message).toBe('and 2000 more, not listed')
})
