import { expect, test } from 'vitest'
import {
  chiSquaredQuantile,
  chiSquaredTail,
} from '../../../../src/reports/performance/statistics/special-functions.ts'

// scipy 1.17.1: chi2.sf(value, degrees).
test.each([
  [0.5, 1, 0.47950012218695337],
  [10 / 3, 1, 0.06788915486182893],
  [9, 9, 0.43727418891386693],
  [20, 10, 0.029252688076961124],
  [100, 40, 4.791357300338064e-7],
  [1e-8, 3, 0.999999999999734],
  [250, 999, 1],
  [1100, 999, 0.013818467525532353],
  [40, 1, 2.5396285894708634e-10],
  [700, 3, 2.0991308534204487e-151],
])('the tail of chi-squared at %d with %d degrees of freedom is that of scipy', (x, df, tail) => {
  const found = chiSquaredTail(x, df)
  expect(Math.abs(found - tail)).toBeLessThanOrEqual(1e-11 * tail + 1e-16)
})

// scipy 1.17.1: chi2.isf(0.05, degrees).
test.each([
  [1, 3.841458820694124],
  [2, 5.991464547107983],
  [9, 16.91897760462045],
  [19, 30.143527205646155],
  [49, 66.33864886296881],
  [999, 1073.6426506574246],
])('the 5 percent point with %d degrees of freedom is that of scipy', (df, point) => {
  expect(chiSquaredQuantile(0.05, df)).toBeCloseTo(point, 9)
})

test('without a degree of freedom the variable is 0', () => {
  expect(chiSquaredQuantile(0.05, 0)).toBe(0)
  expect(chiSquaredTail(0, 0)).toBe(1)
  expect(chiSquaredTail(0.1, 0)).toBe(0)
})
