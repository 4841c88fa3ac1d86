import { expect, test } from 'vitest'
import { gatherNotes } from '../../../src/console/app/ui/card.ts'
import { completePeriod } from '../../../src/console/app/ui/complete-period.ts'
import {
  index,
  percent,
  readNumber,
  shareDifference,
  signed,
  whole,
} from '../../../src/console/app/ui/figures.ts'
import { withVersion } from '../../../src/console/app/ui/names.ts'
import { card, numeric } from '../../support/cards/cards.ts'

test('a difference has the sign of what is shown, and none if that is 0', () => {
  const shown = [12.5, -12.5, 0, -0, -0.003, 0.003, -0.006].map((value) => signed(value))
  expect(shown).toEqual(['+12.5', '−12.5', '0', '0', '0', '0', '−0.01'])
})

test('shares have one decimal, indices four, and people none', () => {
  expect([0.00122, 0.0724, 0.04, 0.0000005, 0].map(percent)).toEqual([
    ...['0.1 %', '7.2 %', '4.0 %', '< 0.1 %', '0.0 %'],
  ])
  expect([0.286680793, 0.00001, 0].map(index)).toEqual(['0.2867', '< 0.0001', '0.0000'])
  expect([788.76, -3].map(whole)).toEqual(['789', '−3'])
  expect([percent(null), index(undefined)]).toEqual(['–', '–'])
})

// From 50 % to 53 % are 3 percentage points, and 6 % more.
test('a difference of shares is in percentage points', () => {
  expect([0.03, -0.0321, 0, -0.0001, null].map(shareDifference)).toEqual([
    ...['+3.0 pp', '−3.2 pp', '0.0 pp', '0.0 pp', '–'],
  ])
})

// Typed 500,5 became 5005, which approves nobody.
test('a typed number may have a decimal comma, but not one that could divide thousands', () => {
  expect(['500,5', '0,78', '3.2', ' −12 ', '1 000'].map(readNumber)).toEqual([
    ...[500.5, 0.78, 3.2, -12, 1000],
  ])
  expect(['1,000', 'a', '', '5e3', '1.2.3'].map(readNumber)).toEqual([null, null, null, null, null])
})

test('the newest complete week begins on a Monday in UTC, the month on its first day', () => {
  const [tuesday, monday, sunday] = ['2026-11-24T17:00Z', '2026-11-23T00:00Z', '2026-11-22T23:59Z']
  const weekAt = (moment: string) => completePeriod('week', Date.parse(moment)).from.slice(0, 10)
  expect([tuesday, monday, sunday].map(weekAt)).toEqual(['2026-11-16', '2026-11-16', '2026-11-09'])
  const january = completePeriod('month', Date.parse('2027-01-05T00:00Z'))
  expect(january).toEqual({ from: '2026-12-01T00:00:00.000Z', to: '2027-01-01T00:00:00.000Z' })
})

// Else the version of a card with an Arabic name would stand in the middle of the name.
test('a name from right to left is kept apart from its version', () => {
  expect(withVersion('Loans', '1.2')).toBe('Loans 1.2')
  expect(withVersion('بطاقة 100 %', '1.2')).toBe('\u2068بطاقة 100 %\u2069 1.2')
})

test('a note on several features is said once, with their names', () => {
  const spec = card([numeric('age', [['(0, 1]', 1]]), numeric('net_income', [['(0, 1]', 1]])])
  const holes = { message: 'have no Missing bin' }
  const notes = [
    { path: 'features[0].bins', ...holes },
    { path: 'scaling', message: 'is odd' },
    { path: 'features[1].bins', ...holes },
    { path: 'features[7].bins', ...holes },
  ]
  expect(gatherNotes(notes, spec as never)).toEqual([
    { path: 'bins of Age and Net income', ...holes },
    { path: 'scaling', message: 'is odd' },
    { path: 'features[7].bins', ...holes },
  ])
  expect(gatherNotes(notes)).toEqual(notes)
})
