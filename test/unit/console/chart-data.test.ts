import { expect, test } from 'vitest'
import { drawnCurves, rangeAlong, timeTexts } from '../../../src/console/page/chart-data.ts'
import { dayInUtc, signed, spanInUtc } from '../../../src/console/page/format.ts'

const DAY_SEC = 86_400
const MONDAY_SEC = Date.parse('2026-11-16T00:00:00Z') / 1000

test('the chart of intervals ends where the newest one does', () => {
  const [first, last] = [MONDAY_SEC - 14 * DAY_SEC, MONDAY_SEC]
  const end = last + 7 * DAY_SEC
  expect(rangeAlong([first, last], { last, end })).toEqual([first, end])
  expect(rangeAlong([last, last], { last, end })).toEqual([last, end])
})

test('a part of a chart that a user chose stays', () => {
  const chosen = [MONDAY_SEC - 7 * DAY_SEC, MONDAY_SEC - DAY_SEC] as const
  expect(rangeAlong(chosen, { last: MONDAY_SEC, end: MONDAY_SEC + DAY_SEC })).toEqual(chosen)
})

test('a value without enough data is a hollow point beside the line', () => {
  const sure = { name: 'age', values: [0.1, null, 0.2] }
  const doubtful = [false, true, false]
  expect(drawnCurves([sure, { name: 'Score', values: [0.02, 3, 0.01], doubtful }])).toEqual([
    { ...sure, colour: 0, isHollow: false },
    { name: 'Score', values: [0.02, null, 0.01], colour: 1, isHollow: false },
    { name: 'Score, not enough data', values: [null, 3, null], colour: 1, isHollow: true },
  ])
})

// West of Greenwich midnight in UTC is the evening before.
test('a day of UTC has its own date, wherever the reader is', () => {
  const days = [MONDAY_SEC, MONDAY_SEC + DAY_SEC]
  expect(timeTexts(days, DAY_SEC, 'UTC')).toEqual(['16 Nov', '17 Nov'])
  expect(timeTexts(days, DAY_SEC, 'America/New_York')).toEqual(['15 Nov', '16 Nov'])
  expect(dayInUtc(MONDAY_SEC * 1000)).toBe('16 Nov 2026')
  const monthMs = 30 * DAY_SEC * 1000
  expect(spanInUtc(MONDAY_SEC * 1000, MONDAY_SEC * 1000 + monthMs)).toBe(
    '16 Nov 2026 – 16 Dec 2026',
  )
})

test('times of a day show the clock, and midnight the date', () => {
  const hours = [MONDAY_SEC - 3_600, MONDAY_SEC, MONDAY_SEC + 30 * 60]
  expect(timeTexts(hours, 1_800, 'UTC')).toEqual(['23:00', '16 Nov', '00:30'])
  expect(timeTexts([MONDAY_SEC + 5], 5, 'UTC')).toEqual(['00:00:05'])
})

test('a difference that rounds to nothing has no sign', () => {
  expect([-0.003, 0.003, -0.01, 0.01].map(signed)).toEqual(['0', '0', '−0.01', '+0.01'])
})
