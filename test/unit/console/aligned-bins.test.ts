import { expect, test } from 'vitest'
import { alignedBins } from '../../../src/console/app/pages/versions/aligned-bins.ts'
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
function scored(feature: ReturnType<typeof categorical>, text: string): number {
  const spec = card([feature], { base_points: 0 })
  const value = text === 'Missing' ? null : text
  return evaluateNaively(spec, { [feature.name]: value }).score
}
