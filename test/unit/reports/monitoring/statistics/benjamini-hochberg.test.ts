import { expect, test } from 'vitest'
import { discoveries } from '../../../../../src/reports/monitoring/statistics/significance.ts'

// The table of Benjamini and Hochberg (1995), section 3.2: 15 tests, of which 4 are found at 5
// percent. Without the procedure 9 of them are below 0.05.
const PAPER = [
  ...[0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344],
  ...[0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1],
]

test('of the tests of the paper the first four are discoveries', () => {
  const found = discoveries(PAPER, 0.05)
  expect(found.flatMap((isFound, index) => (isFound ? [index] : []))).toEqual([0, 1, 2, 3])
})

// A small p-value takes a larger one along that is above its own bound.
test('everything up to the last test below its bound is a discovery', () => {
  expect(discoveries([0.045, 0.04, 0.9], 0.05)).toEqual([false, false, false])
  expect(discoveries([0.05, 0.045, 0.001], 0.05)).toEqual([true, true, true])
})

test('without tests there are no discoveries, and the order of the tests stays', () => {
  expect(discoveries([], 0.05)).toEqual([])
  expect(discoveries([1, 0.001, 0.5], 0.05)).toEqual([false, true, false])
})
