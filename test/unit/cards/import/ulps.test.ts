import { expect, test } from 'vitest'
import { ulpsBetween } from '../../../../src/cards/import/parity.ts'

test.each([
  [1, 1, 0],
  [1, 1 + Number.EPSILON, 1],
  [1 + Number.EPSILON, 1, 1],
  // Below a power of two, doubles are twice as dense.
  [1, 1 - Number.EPSILON, 2],
  [-1, -1 - Number.EPSILON, 1],
  [0, 0, 0],
  [0, -0, 0],
  [-Number.MIN_VALUE, Number.MIN_VALUE, 2],
  [565.4028854123, 565.4028854123 + 2 ** -43, 1],
  [565.4028854123, 565.4028854123 + 3 * 2 ** -43, 3],
])('from %d to %d are %i steps', (one, other, steps) => {
  expect(ulpsBetween(one, other)).toBe(steps)
})
