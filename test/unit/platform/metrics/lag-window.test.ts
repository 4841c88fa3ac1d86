import { expect, test } from 'vitest'
import { LagWindow } from '../../../../src/platform/metrics/lag-window.ts'

test('without a lag all figures are 0', () => {
  expect(Object.values(new LagWindow().figures())).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
})

test('figures are those of the lags by hand', () => {
  const window = new LagWindow()
  for (const lag of [4, 1, 3, 2]) window.note(lag)
  const { stddev, ...rest } = window.figures()
  expect(rest).toEqual({ latest: 2, min: 1, max: 4, mean: 2.5, p50: 2, p90: 4, p99: 4 })
  expect(stddev).toBeCloseTo(Math.sqrt(1.25), 12)
})

test('percentiles are the least lag that so many of the lags do not exceed', () => {
  const window = new LagWindow()
  for (let lag = 100; lag >= 1; lag--) window.note(lag)
  expect(window.figures()).toMatchObject({ p50: 50, p90: 90, p99: 99, max: 100, latest: 1 })
})

// A pause of last week must not keep an alarm up.
test('only the latest 1,500 lags count', () => {
  const window = new LagWindow()
  window.note(60)
  expect(window.figures().max).toBe(60)
  for (let tick = 0; tick < 1_499; tick++) window.note(1)
  expect(window.figures().max).toBe(60)
  window.note(1)
  expect(window.figures()).toMatchObject({ max: 1, mean: 1, stddev: 0 })
})
