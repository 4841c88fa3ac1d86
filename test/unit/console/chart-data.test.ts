import { expect, test } from 'vitest'
import { makeCurve } from '../../../src/console/app/pages/cutoffs/curve.ts'
import { bandPath, linearScale, linePath } from '../../../src/console/app/ui/chart/scale.ts'

test('a scale has round ends around all values, also of one value and of none', () => {
  expect(linearScale([0.003, 0.287], [0, 100]).ticks).toEqual([0, 0.1, 0.2, 0.3])
  const single = linearScale([420], [0, 100])
  expect([single.low <= 420, single.high >= 420]).toEqual([true, true])
  expect(linearScale([], [0, 100]).ticks.length).toBeGreaterThan(1)
})

// A line across a week without applicants would show figures that nobody has seen.
test('a line is interrupted where there is no value, and a band leaves it out', () => {
  expect(
    linePath([
      [0, 1],
      [1, null],
      [2, 3],
    ]),
  ).toBe('M0.0 1.0M2.0 3.0')
  expect(
    bandPath([
      [0, 0, 2],
      [1, null, null],
      [2, 1, 3],
    ]),
  ).toBe('M0.0 2.0L2.0 3.0L2.0 1.0L0.0 0.0Z')
})

test('a bad rate is observed only as far as outcomes are known', () => {
  const result = (cutoff: number, approval_rate: number) => ({
    cutoff,
    approval_rate,
    approved: 0,
    declined: 0,
    mean_pd_approved: 0.1,
    mean_pd_declined: null,
    expected_bads_approved: null,
    expected_bads_declined: null,
  })
  const band = { cum_count: 100, cum_bad: 10, min_score: 400, max_score: 700 }
  const cutoffs = [result(300, 0.9), result(450, 0.4), result(400, 0.6)]
  const points = makeCurve({ cutoffs } as never, [band] as never)
  expect(points.map(({ cutoff, observed }) => [cutoff, observed])).toEqual([
    [450, null],
    [400, 0.1],
    [300, null],
  ])
})

// Two points at one place cannot be told apart: arrow keys stopped at them, and one was left behind
// when the chart got its width.
test('cut-offs with nobody between them are one point of the curve', () => {
  const result = (cutoff: number, approval_rate: number) => ({ cutoff, approval_rate })
  const cutoffs = [result(300, 0.9), result(320, 0.5), result(340, 0.5), result(360, 0)]
  const points = makeCurve({ cutoffs } as never, [])
  expect(points.map(({ cutoff }) => cutoff)).toEqual([360, 340, 300])
})
