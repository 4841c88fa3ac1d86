import { expect, test } from 'vitest'
import { alignedBins } from '../../../src/console/page/aligned-bins.ts'
import { bandTable, csvOf } from '../../../src/console/page/csv.ts'
import { marksOf, marksWithin } from '../../../src/console/page/marks.ts'
import type { Feature, HistoryChange } from '../../../src/console/page/types.ts'
import { card } from '../../support/cards/cards.ts'
import { evaluateNaively } from '../../support/naive/naive-evaluator.ts'

const numeric = (...bins: readonly (readonly [string, number])[]) => ({
  name: 'age',
  type: 'numeric' as const,
  bins: bins.map(([range, points]) => ({ range, points })),
})
const categorical = (...bins: readonly (readonly [string, number])[]) => ({
  name: 'housing',
  type: 'categorical' as const,
  bins: bins.map(([value, points]) => ({ value, points })),
})

test('ranges are cut where either version has an edge', () => {
  const one = numeric(['(-Infinity, 25)', -5], ['[25, Infinity)', 10], ['Missing', 0])
  const other = numeric(['(-Infinity, 25]', -5], ['(25, 40)', 8], ['[40, Infinity)', 12])
  expect(alignedBins(one, other)).toEqual([
    { value: '(-Infinity, 25)', points: -5, otherPoints: -5 },
    { value: '[25, 25]', points: 10, otherPoints: -5 },
    { value: '(25, 40)', points: 10, otherPoints: 8 },
    { value: '[40, Infinity)', points: 10, otherPoints: 12 },
    { value: 'Missing', points: 0, otherPoints: null },
  ])
})

test('a range that only one version has keeps a place of its own', () => {
  const one = numeric(['[0, 10)', 1])
  const other = numeric(['[5, 20)', 2])
  expect(alignedBins(one, other)).toEqual([
    { value: '[0, 5)', points: 1, otherPoints: null },
    { value: '[5, 10)', points: 1, otherPoints: 2 },
    { value: '[10, 20)', points: null, otherPoints: 2 },
  ])
  expect(alignedBins(one, null)).toEqual([{ value: '[0, 10)', points: 1, otherPoints: null }])
})

test('categories with the same pair of points are one row', () => {
  const one = categorical(['rent%,%free', -13], ['own', 6])
  const other = categorical(['rent', -13], ['free%,%own', 6])
  expect(alignedBins(one, other)).toEqual([
    { value: 'rent', points: -13, otherPoints: -13 },
    { value: 'free', points: -13, otherPoints: 6 },
    { value: 'own', points: 6, otherPoints: 6 },
  ])
})

// docs/decisions.md 4.3
test('a category without a bin has the points of the Missing bin, as in scoring', () => {
  const one = categorical(['car', 3], ['Missing', -7])
  const other = categorical(['car', 3], ['boat', 4], ['Missing', -7])
  const boat = { value: 'boat', points: -7, otherPoints: 4 }
  expect(alignedBins(one, other)).toContainEqual(boat)
  expect(alignedBins(other, one)).toContainEqual({ value: 'boat', points: 4, otherPoints: -7 })
  // Without a Missing bin it gets nothing, and so does a number between the ranges.
  expect(alignedBins(categorical(['car', 3]), other)).toContainEqual({ ...boat, points: null })
  const wide = numeric(['[0, 20)', 2], ['Missing', -7])
  const narrow = numeric(['[0, 10)', 2], ['Missing', -7])
  const outside = { value: '[10, 20)', points: 2, otherPoints: null }
  expect(alignedBins(wide, narrow)).toContainEqual(outside)
})

test('the points beside each other are those that scoring gives', () => {
  const cards = [
    [categorical(['car', 3], ['van%,%boat', 5]), categorical(['car', 3], ['Missing', -7])],
    [categorical(['car', 3], [' Missing ', 9], ['Missing', 1]), categorical(['boat', 2])],
  ]
  for (const [one, other] of cards) {
    if (one === undefined || other === undefined) throw new Error('there are two')
    for (const { value, points, otherPoints } of alignedBins(one, other)) {
      for (const text of value.split(', ')) {
        expect([text, points ?? 0]).toEqual([text, scored(one, text)])
        expect([text, otherPoints ?? 0]).toEqual([text, scored(other, text)])
      }
    }
  }
})

/** What a text gets; `Missing` is a missing value. */
function scored(feature: Feature, text: string): number {
  const bins = feature.bins.map(({ range, value, points }) => ({
    points,
    ...(range !== undefined && { range }),
    ...(value !== undefined && { value }),
  }))
  const spec = card([{ name: feature.name, type: feature.type, bins }], { base_points: 0 })
  const value = text === 'Missing' ? null : text
  return evaluateNaively(spec, { [feature.name]: value }).score
}

// A spreadsheet runs what begins like a formula.
test('a table is saved as CSV with numbers in full, and no text is a formula', () => {
  const text = csvOf(
    ['name', 'share'],
    [
      ['a "b", c', 0.1 + 0.2],
      ['=1+1', null],
    ],
  )
  expect(text).toBe(`name,share\r\n"a ""b"", c",0.30000000000000004\r\n'=1+1,\r\n`)
})

test('score bands are saved with the model, the period and the number they stand on', () => {
  const band = { min: 480, max: 500, n: 3, share: 0.75, mean_pd: 0.1, expected_bads: 0.3 }
  const { head, rows } = bandTable({
    model_id: 'mod_1',
    model_version: '2.0',
    from: '2026-10-01T00:00:00.000Z',
    to: null,
    dedupe: 'last',
    n: 4,
    cutoffs: [],
    bands: [band],
    grades: [],
  })
  expect(csvOf(head, rows)).toBe(
    'model_version,from,to,n,min,max,applicants,share,mean_pd,expected_bads\r\n' +
      '2.0,2026-10-01T00:00:00.000Z,,4,480,500,3,0.75,0.1,0.3\r\n',
  )
})

let minutes = 0
const change = (kind: HistoryChange['kind'], rest: Partial<HistoryChange> = {}): HistoryChange => ({
  at: new Date(60_000 * minutes++).toISOString(),
  kind,
  champion_model_id: 'mod_1',
  champion_version: '2.0',
  shadow_mode: false,
  is_active: true,
  challengers: [],
  verdict: null,
  ...rest,
})

test('promotions, shares, rollbacks and verdicts are marks; a new name is none', () => {
  const challengers = [{ model_id: 'mod_2', version: '3.0', traffic_pct: 10 }]
  const marks = marksOf({
    deployment_id: 'dep_1',
    changes: [
      change('create'),
      change('update'),
      change('promote'),
      change('rollback'),
      change('update_traffic', { challengers }),
      change('add_challenger', { challengers, shadow_mode: true }),
      change('stability_verdict', { verdict: 'major_shift' }),
    ],
  })
  expect(marks.map(({ text }) => text)).toEqual([
    '2.0 promoted',
    'rolled back to 2.0',
    'shares: 3.0 10 %',
    'in shadow: 3.0',
    'verdict: major shift',
  ])
  const [first] = marks
  expect(marksWithin(marks, first?.atSec ?? 0, 1e9)).toHaveLength(5)
  expect(marksWithin(marks, 0, (first?.atSec ?? 0) - 1)).toEqual([])
})

test('changes within a minute are one mark', () => {
  const at = '2026-01-02T00:00:00.000Z'
  const marks = marksOf({
    deployment_id: 'dep_1',
    changes: [
      change('toggle_shadow', { at, shadow_mode: true }),
      change('promote', { at: '2026-01-02T00:00:59.000Z' }),
      change('rollback', { at: '2026-01-02T00:01:00.000Z' }),
    ],
  })
  expect(marks.map(({ text }) => text)).toEqual(['shadow mode, 2.0 promoted', 'rolled back to 2.0'])
})

test('verdicts push no promotion out of a chart', () => {
  const marks = marksOf({
    deployment_id: 'dep_1',
    changes: [
      change('promote'),
      ...Array.from({ length: 20 }, () => change('stability_verdict', { verdict: 'stable' })),
    ],
  })
  const shown = marksWithin(marks, 0, 1e9)
  expect(shown).toHaveLength(12)
  expect(shown[0]?.text).toBe('2.0 promoted')
  expect(shown.at(-1)).toBe(marks.at(-1))
})
