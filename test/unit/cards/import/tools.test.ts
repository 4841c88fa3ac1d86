import { describe, expect, test } from 'vitest'
import {
  findFaults,
  fixtureJson,
  type Given,
  importFile,
  importText,
  parityWith,
  readParity,
  SCALES,
  sampleWith,
} from '../../../support/cards/import-fixtures.ts'

const scorecardpy: Given = { scaling: SCALES.scorecardpy, unseen: 'missing' }
const commaCategories = ['car or other, not in attribute Savings account/bonds']
const toad: Given = { scaling: SCALES.toad, unseen: 'min', commaCategories }
const optbinning = (splits: string): Given => ({
  scaling: SCALES.optbinning,
  unseen: 'missing',
  splits: fixtureJson(splits),
})
const skorecard: Given = {
  scaling: SCALES.optbinning,
  unseen: 'missing',
  commaCategories,
  splits: { duration_in_month: { special_codes: { unknown: [-999] } } },
}
const bundle: Given = { scaling: SCALES.bundle }

type Row = [file: string, tool: string, scores: string, options: Given, equal: number]

const EXACT: Row[] = [
  ['scorecardpy.csv', 'scorecardpy', 'scorecardpy-scores.csv', scorecardpy, 1000],
  ['scorecardpy.json', 'scorecardpy', 'scorecardpy-scores.csv', scorecardpy, 1000],
  ['scorecardpy-columns.json', 'scorecardpy', 'scorecardpy-scores.csv', scorecardpy, 1000],
  ['scorecardpy-dict.json', 'scorecardpy', 'scorecardpy-scores.csv', scorecardpy, 1000],
  ['scorecardpy-spread.csv', 'scorecardpy', 'scorecardpy-spread-scores.csv', scorecardpy, 1000],
  // The same card in R's layout.
  ['r-scorecard.csv', 'r-scorecard', 'scorecardpy-scores.csv', scorecardpy, 1000],
  [
    'optbinning.csv',
    'optbinning',
    'optbinning-scores.csv',
    optbinning('optbinning-splits.json'),
    1000,
  ],
  [
    'optbinning-detailed.csv',
    'optbinning',
    'optbinning-scores.csv',
    optbinning('optbinning-splits.json'),
    1000,
  ],
  [
    'optbinning-0.20.csv',
    'optbinning',
    'optbinning-0.20-scores.csv',
    optbinning('optbinning-0.20-splits.json'),
    1000,
  ],
  [
    'optbinning-intercept.csv',
    'optbinning',
    'optbinning-intercept-scores.csv',
    { ...optbinning('optbinning-intercept-splits.json'), intercept: 326 },
    1000,
  ],
  ['skorecard.csv', 'skorecard', 'skorecard-scores.csv', skorecard, 1000],
  // Made by the lines that the import's message advises, with the library as it is.
  [
    'skorecard-advised.csv',
    'skorecard',
    'skorecard-advised-scores.csv',
    { ...skorecard, splits: undefined },
    1000,
  ],
  // What is missing is Python's None, of which toad makes a category.
  [
    'toad-none.json',
    'toad',
    'toad-none-scores.csv',
    { ...toad, commaCategories: [], unseen: 'missing' },
    957,
  ],
  ['bundle.csv', 'scorecard-bundle', 'bundle-scores.csv', bundle, 1000],
  ['bundle-decimals.csv', 'scorecard-bundle', 'bundle-decimals-scores.csv', bundle, 1000],
  // numpy adds up in the order of the file too, but begins with the first feature, not with 0.
  ['toad.json', 'toad', 'toad-scores.csv', toad, 938],
  ['toad.csv', 'toad', 'toad-scores.csv', toad, 938],
]

describe('the engine agrees with the tool on all 1,000 applicants', () => {
  test.each(EXACT)('%s', (file, tool, scores, options, equal) => {
    const imported = importFile(file, options)
    expect(findFaults(imported)).toEqual([])
    expect(imported.tool).toBe(tool)
    const { agrees, rows, equal: equalFound, withinRounding } = readParity(imported, scores)
    expect({ agrees, rows, equal: equalFound, withinRounding }).toEqual({
      agrees: true,
      rows: 1000,
      equal,
      withinRounding: 1000 - equal,
    })
  })

  test('of scorecardpy for each of its 14 features', () => {
    const parity = readParity(importFile('scorecardpy.csv', scorecardpy), 'scorecardpy-scores.csv')
    expect(parity.comparedFeatures).toBe(14)
  })
})

// scorecardpy looks for "2600.0" where its card has "2600", finds nothing and adds 0 without a
// word.
test('a special value that scorecardpy misses in floating point numbers is found by the check', () => {
  const sample = sampleWith('scorecardpy-float-scores.csv')
  const parity = parityWith(importFile('scorecardpy.csv', scorecardpy), sample)
  expect(parity).toMatchObject({ equal: 965, differing: 35, largestDifference: 10 })
  expect(parity.differences[0]?.features).toContainEqual({
    feature: 'duration_in_month',
    bin: '-999',
    expectedPoints: null,
    actualPoints: -10,
  })
})

// A request has one null, whichever of the two it was in Python.
test('None and nan of toad are one missing value: two bins with other points are refused', () => {
  const read = (none: number) =>
    importText(JSON.stringify({ home: { None: none, nan: 2, own: 3 } }), {
      tool: 'toad',
      scaling: SCALES.toad,
      unseen: 'missing',
    })
  expect(findFaults(read(1))).toEqual([expect.stringContaining('a bin for None and one for nan')])
  expect(findFaults(read(2))).toEqual([])
})

// Two decimals are what toad writes when nobody says otherwise; its own scores have them all.
test('a card of toad with two decimals differs from its scores by what was rounded', () => {
  const imported = importFile('toad-2-decimals.json', toad)
  expect(imported.conversions.map(({ message }) => message).join()).toContain('export(decimal=17)')
  expect(readParity(imported, 'toad-scores.csv').differing).toBe(1000)
  // 13 features, each rounded by at most half of the last decimal.
  expect(readParity(imported, 'toad-scores.csv', 13 * 0.005).differing).toBe(0)
})

// Scores of a PMML engine that others wrote, with all of PMML's rules.
test('PMML agrees with JPMML-Evaluator on all 1,000 applicants', () => {
  const imported = importFile('optbinning.pmml', { scaling: SCALES.optbinning, unseen: 'missing' })
  expect(readParity(imported, 'optbinning-pmml-jpmml-scores.csv')).toMatchObject({
    agrees: true,
    rows: 1000,
    equal: 1000,
  })
})

// JPMML-SkLearn writes special values after the ranges, so that every engine of PMML gives them the
// points of a range; optbinning gives them their own.
test('PMML of optbinning agrees but for the special value, which it loses', () => {
  const imported = importFile('optbinning.pmml', { scaling: SCALES.optbinning, unseen: 'missing' })
  expect(findFaults(imported)).toEqual([])
  const parity = readParity(imported, 'optbinning-pmml-scores.csv')
  expect(parity).toMatchObject({ rows: 1000, equal: 965, differing: 35 })
  expect(imported.conversions).toContainEqual({
    path: 'Characteristic "optBinning(duration_in_month)", Attribute 8',
    message: expect.stringContaining('("= -999") is left out'),
  })
})

// Its name would be taken for two categories, and the applicants that have it for unknown ones.
test.each([
  ['toad.json', toad, 9],
  ['skorecard.csv', skorecard, 1],
])(
  'a category with a comma in %s is asked for',
  (file, { commaCategories: _, ...options }, count) => {
    const faults = findFaults(importFile(file, options))
    expect(faults).toHaveLength(count)
    expect(faults[0]).toContain('name such categories in `comma_categories`')
    expect(importFile(file, { ...options, commaCategories: [] }).faults).toEqual([])
  },
)

test('the table of skorecard that pairs bins and points wrongly is refused', () => {
  const faults = findFaults(importFile('skorecard-mixed.csv', skorecard))
  expect(faults.filter((fault) => fault.includes('pairs bins and points wrongly'))).toHaveLength(22)
})

test('a row of start points is the base', () => {
  expect(importFile('bundle-start.csv', bundle).spec?.base_points).toBe(115)
})

test('a card of R that closes on the right keeps its closure', () => {
  const { spec, tool } = importFile('r-scorecard-right.csv', scorecardpy)
  expect(tool).toBe('r-scorecard')
  expect(spec?.features.find(({ name }) => name === 'age_in_years')?.bins[1]).toEqual({
    range: '(26, 28]',
    points: 8,
    label: '(26,28]',
    baseline_count: 100,
  })
})

test('smbinning gives features the names and bins of what they were made from', () => {
  const { spec, ...rest } = importFile('smbinning.csv', {
    scaling: { pdo: 20, baseScore: 720, odds: '99', oddsDirection: 'good:bad' },
    unseen: 'zero',
    rename: { g1age: 'age', g1income: 'income', g1home: 'home', g1inc: 'inc' },
  })
  expect(findFaults({ spec, ...rest })).toEqual([])
  const bins = spec?.features.map(({ name, bins }) => [
    name,
    ...bins.map((bin) => ('range' in bin ? bin.range : bin.value)),
  ])
  expect(bins).toEqual([
    ['age', '(-Infinity, 25]', '(25, 34.5]', '(34.5, Infinity)'],
    ['income', '(-Infinity, 1000]', '(1000, Infinity)', 'Missing'],
    ['home', 'own', 'rent'],
    ['inc', 'W01%,%W02', 'W03%,%W04%,%W05'],
  ])
})
