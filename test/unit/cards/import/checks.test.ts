import { expect, test } from 'vitest'
import {
  checkSpecAgainstSample,
  runImport,
  sampleWarnings,
} from '../../../../src/cards/import/run-import.ts'
import { importReport } from '../../../../src/cli/import-report.ts'
import type { ScorecardSpec } from '../../../../src/engine/index.ts'
import { LABELS, SCALES } from '../../../support/cards/import-fixtures.ts'

const FEATURES = 13
const BINS = 5
const ROWS = 2_000
const FACTOR = 50 / Math.LN2

/** Numbers between 0 and 1 that are the same in each run. */
function newRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** A card whose points are rounded, and applicants with their exact probabilities. */
function wholeCard(seed: number) {
  const random = newRandom(seed)
  const base = 480 + 10 * random()
  const exact = Array.from({ length: FEATURES }, () =>
    Array.from({ length: BINS }, () => -20 + 45 * random()),
  )
  const spec = {
    name: 'whole',
    version: '1',
    spec_version: '1.0',
    target: 'bad',
    base_points: Math.round(base),
    features: exact.map((points, feature) => ({
      name: `x${feature}`,
      type: 'categorical' as const,
      bins: points.map((one, bin) => ({ value: `b${bin}`, points: Math.round(one) })),
    })),
    scaling: { base_score: 600, base_odds: 19, pdo: 50 },
  }
  const rows = Array.from({ length: ROWS }, () => {
    const bins = exact.map(() => Math.floor(BINS * random() ** 1.3))
    const sum = (of: (feature: number, bin: number) => number) =>
      bins.reduce((total, bin, feature) => total + of(feature, bin), 0)
    const whole = sum((feature, bin) => Math.round(exact[feature]?.[bin] ?? 0))
    const score = base + sum((feature, bin) => exact[feature]?.[bin] ?? 0)
    const values = Object.fromEntries(bins.map((bin, feature) => [`x${feature}`, `b${bin}`]))
    const pd = 1 / (1 + 19 * Math.exp((score - 600) / FACTOR))
    return { ...values, score: Math.round(base) + whole, pd }
  })
  return { spec, sample: ndjson(rows) }
}

const ndjson = (rows: readonly object[]) =>
  Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))

function check(spec: object, sample: Uint8Array, tolerance = 0) {
  const found = checkSpecAgainstSample({
    spec: spec as ScorecardSpec,
    check: { sample, tolerance },
  })
  if (found.faults !== null) throw new Error(JSON.stringify(found.faults))
  return found
}

const SEEDS = Array.from({ length: 16 }, (_, seed) => seed)

// Each applicant alone is inside the rounding of thirteen bins: only the mean shows the scale.
test.each([
  ['points0 603 for 600', { base_score: 603 }],
  ['points0 597 for 600', { base_score: 597 }],
  ['odds of 18 for 19', { base_odds: 18 }],
  ['odds of 20 for 19', { base_odds: 20 }],
])('a card with whole points and %s does not agree', (_, wrong) => {
  const agreeing = SEEDS.filter((seed) => {
    const { spec, sample } = wholeCard(seed)
    return check({ ...spec, scaling: { ...spec.scaling, ...wrong } }, sample).parity.agrees
  })
  // A card whose own rounding lies as far the other way is like one without a fault.
  expect(agreeing.length).toBeLessThanOrEqual(SEEDS.length / 8)
})

test('a card with whole points and the right scale agrees, and shows the fitted one beside it', () => {
  for (const seed of SEEDS) {
    const { spec, sample } = wholeCard(seed)
    const { parity } = check(spec, sample)
    expect([seed, parity.agrees]).toEqual([seed, true])
    expect(parity.scale?.given).toEqual(spec.scaling)
    expect(parity.scale?.fitted).toMatchObject({
      base_odds: 19,
      base_score: expect.closeTo(600, -1),
      pdo: expect.closeTo(50, -1),
    })
  }
})

test('exact scores that are off by three points in the mean do not agree with a tolerance for rounding', () => {
  const { spec } = wholeCard(1)
  const row = (score: number) => ({
    ...Object.fromEntries(spec.features.map(({ name }) => [name, 'b0'])),
    score,
  })
  const points = spec.features.reduce((sum, { bins }) => sum + (bins[0]?.points ?? 0), 0)
  const score = spec.base_points + points
  const near = check(spec, ndjson([row(score + 0.4)]), 7)
  expect(near.parity.agrees).toBe(true)
  const far = check(spec, ndjson([row(score + 5), row(score + 4)]), 7)
  expect(far.parity).toMatchObject({ agrees: false, differing: 0, meanDifference: -4.5 })
})

// A card fitted on the good flag agreed with probabilities that nobody looked at.
test('probabilities of 0.5 and more in the mean are warned of', () => {
  const spec = card({ own: 0 })
  const pd = (score: number) => 1 / (1 + 19 * 2 ** ((score - 600) / 50))
  const warned = check(spec, ndjson([{ home: 'own', score: 100, pd: pd(100) }]))
  expect(sampleWarnings(warned.parity)).toEqual([
    { path: 'sample', message: expect.stringMatching(/mean probability of default of 0\.982: if/) },
  ])
  const usual = check(
    { ...spec, base_points: 600 },
    ndjson([{ home: 'own', score: 600, pd: 0.05 }]),
  )
  expect(sampleWarnings(usual.parity)).toEqual([])
})

function card(home: Readonly<Record<string, number>>) {
  return {
    name: 'card',
    version: '1',
    spec_version: '1.0',
    target: 'bad',
    base_points: 100,
    features: [
      {
        name: 'home ',
        type: 'categorical',
        bins: Object.entries(home).map(([value, points]) => ({ value, points })),
      },
    ].map((feature) => ('own' in home ? { ...feature, name: 'home' } : feature)),
    scaling: { base_score: 600, base_odds: 19, pdo: 50 },
  }
}

// The proof said DIFFERS of cards that were right, because CSV can't say what was scored.
test.each([
  ['an empty text is a category', { '': 7, x: 1 }, { 'home ': '', score: 107 }],
  [
    'a number is the category that is the same number',
    { 2: 7, x: 1 },
    { 'home ': 2.0, score: 107 },
  ],
  ['null is missing', { Missing: 7, x: 1 }, { 'home ': null, score: 107 }],
])('in lines of JSON %s, and names keep their blanks', (_, bins, row) => {
  expect(check(card(bins), ndjson([row])).parity).toMatchObject({ agrees: true, equal: 1 })
})

test('lines of JSON may be arrays after a line of names', () => {
  const lines = (...rows: unknown[]) =>
    Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const bins = card({ '': 7, x: 1 })
  const sample = lines(['home ', 'score'], ['', 107], [null, 100], ['x', 101])
  expect(check(bins, sample).parity).toMatchObject({ agrees: true, rows: 3 })
  const short = { sample: lines(['home ', 'score'], ['']), tolerance: 0 }
  expect(checkSpecAgainstSample({ spec: bins as ScorecardSpec, check: short }).faults).toEqual([
    {
      path: 'sample, applicant 1',
      message: 'is not an array of 2 values, one for each name of line 1',
    },
  ])
})

test('in CSV a number is the category that is the same number, and names keep their blanks', () => {
  const csv = Buffer.from('home ,score\n2.0,107\n3,104\n007,102\n7,100\n')
  const parity = check(card({ 2: 7, '3.0': 4, '007': 2 }), csv).parity
  expect(parity).toMatchObject({ agrees: true, rows: 4 })
})

const AGE = {
  name: 'card',
  version: '1',
  spec_version: '1.0',
  target: 'bad',
  base_points: 100,
  has_pd: false,
  features: [
    {
      name: 'age',
      type: 'numeric',
      bins: [
        { range: '[-Infinity, 24)', points: 1 },
        { range: '[24, 40)', points: 2 },
        { range: '[40, Infinity)', points: 3 },
        { range: 'Missing', points: 4 },
      ],
    },
    {
      name: 'home',
      type: 'categorical',
      bins: [
        { value: 'own', points: 5 },
        { value: 'rent', points: 6 },
      ],
    },
  ],
}

// A specification could be checked only by registering it.
test('a specification is a card that is checked as it is, and has its certificate', () => {
  const run = (text: string, tool?: 'scoreline') =>
    runImport({
      card: Buffer.from(text),
      options: { ...LABELS, name: AGE.name, scaling: {}, ...(tool && { tool }) },
      check: { sample: ndjson([{ age: 24, home: 'own', score: 107 }]), tolerance: 0 },
    })
  const { certificate, spec, faults } = run(JSON.stringify(AGE, null, 2))
  expect(faults).toEqual([])
  expect(spec).toEqual(AGE)
  expect(certificate).toMatchObject({ agrees: true, tool: null, cardSha256: null, rows: 1 })
  const wrong = run(JSON.stringify({ ...AGE, base_points: 'x' }), 'scoreline')
  expect(wrong).toMatchObject({ spec: null, faults: [{ path: 'base_points' }] })
})

test('a certificate names the bins, bounds, missing and unseen values that nobody reached', () => {
  const rows = [
    { age: 24, home: 'own', score: 107 },
    { age: 30, home: 'own', score: 107 },
  ]
  const { coverage } = check(AGE, ndjson(rows)).parity
  expect(coverage).toMatchObject({ bins: 6, binsUnreached: 4 })
  expect(coverage.unreached).toEqual([
    {
      feature: 'age',
      bins: ['[-Infinity, 24)', '[40, Infinity)', 'Missing'],
      moreBins: 0,
      edges: [40],
      moreEdges: 0,
      outcomes: ['missing'],
    },
    {
      feature: 'home',
      bins: ['rent'],
      moreBins: 0,
      edges: [],
      moreEdges: 0,
      outcomes: ['missing', 'unseen_category'],
    },
  ])
})

// One applicant proved nothing about five of six bins, and the verdict was AGREES.
test('a report says how many bins nobody reached, on its first line', () => {
  const table = 'variable,bin,points\nbasepoints,,100\nhome,own,5\nhome,"rent%,%missing",6\n'
  const outcome = runImport({
    card: Buffer.from(table),
    options: { ...LABELS, scaling: SCALES.scorecardpy, unseen: 'missing' },
    check: { sample: Buffer.from('home,score\nown,105\n'), tolerance: 0 },
  })
  expect(importReport(outcome, false)).toMatch(
    /^AGREES IN SCORES, PROBABILITIES NOT CHECKED, 2 OF 3 BINS NOT REACHED: /,
  )
  expect(importReport(outcome, true)).toContain('home: bins rent')
})

const applicants = Array.from({ length: 4_454 }, (_, row) => ({
  age: row % 11 === 0 ? 20 : 24 + (row % 50),
  home: row % 3 === 0 ? 'own' : 'rent',
}))
const scored = (points: (one: (typeof applicants)[number]) => number) =>
  ndjson(
    applicants.map((one) => {
      const age = one.age < 24 ? 1 : one.age < 40 ? 2 : 3
      return { ...one, score: 100 + age + (one.home === 'own' ? 5 : 6) + points(one) }
    }),
  )

// Modelers looked for a day for what one line can say.
test('a mismatch names the constant by which all differ', () => {
  expect(
    check(
      AGE,
      scored(() => -0.5),
    ).parity.finding,
  ).toBe(
    'all 4,454 applicants differ by exactly +0.5 points: the base points or the intercept differ',
  )
})

test('a mismatch names the bin in which all are that differ', () => {
  expect(
    check(
      AGE,
      scored(({ age }) => (age < 24 ? 3 : 0)),
    ).parity.finding,
  ).toBe('all 405 that differ are in age [-Infinity, 24), by exactly -3 points')
  expect(
    check(
      AGE,
      scored(() => 0),
    ).parity.finding,
  ).toBe(null)
  const scattered = scored(({ age, home }) => (age % 7 === 0 && home === 'own' ? age : 0))
  expect(check(AGE, scattered).parity.finding).toBe(null)
})
