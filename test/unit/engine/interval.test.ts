import { expect, test } from 'vitest'
import { nextDown, nextUp, parseInterval } from '../../../src/engine/interval.ts'
import { processorMs } from '../../support/expect/processor-time.ts'

const TINY = Number.MIN_VALUE
const HUGE = Number.MAX_VALUE

// A score at a bin's edge is a decision at a bin's edge: which side it falls on is in the text.
test.each([
  ['(25, 35]', { low: nextUp(25), high: 35 }],
  ['[25, 35)', { low: 25, high: nextDown(35) }],
  ['[25, 35]', { low: 25, high: 35 }],
  ['(25, 35)', { low: nextUp(25), high: nextDown(35) }],
  ['  ( 25 ,\t35 ]\n', { low: nextUp(25), high: 35 }],
  ['(-Infinity,Infinity)', { low: -Infinity, high: Infinity }],
  ['[-Infinity,+Infinity]', { low: -Infinity, high: Infinity }],
  ['(0, 1]', { low: TINY, high: 1 }],
  ['(-1, 0)', { low: nextUp(-1), high: -TINY }],
  ['[-0, 0]', { low: -0, high: 0 }],
  ['[5, 5]', { low: 5, high: 5 }],
  ['[1e3, 2.5E+3]', { low: 1000, high: 2500 }],
  ['[.5, 1.]', { low: 0.5, high: 1 }],
  ['[0.1, 0.30000000000000004]', { low: 0.1, high: 0.1 + 0.2 }],
])('%s holds exactly the doubles that the text names', (text, expected) => {
  expect(parseInterval(text)).toEqual(expected)
})

test.each([
  ['(5, 5]', /empty/],
  ['[6, 5]', /empty/],
  ['(Infinity, Infinity)', /empty/],
  ['(0, -Infinity)', /empty/],
  // No double lies between two neighbours.
  [`(1, ${nextUp(1)})`, /empty/],
  ['(5, 1e999]', /beyond the range of a double/],
  ['(NaN, 5]', /not a number/],
  ['(0x10, 20]', /not a number/],
  ['(inf, 5]', /not a number/],
  ['5 - 10', /is not a range/],
  ['(1, 2, 3]', /is not a range/],
  ['', /is not a range/],
])('%s is refused with the reason', (text, reason) => {
  expect(parseInterval(text)).toMatch(reason)
})

// A regular expression that backtracks would hold up everyone for hours.
test('a bound of a million digits is refused at once', () => {
  const startedMs = processorMs()
  expect(parseInterval(`(-Infinity, ${'1'.repeat(1_000_000)}x]`)).toMatch(/longer than/)
  expect(parseInterval(`(-Infinity, ${'1'.repeat(900)}x]`)).toMatch(/not a number/)
  expect(processorMs() - startedMs).toBeLessThan(100)
})

test.each([
  [0, TINY],
  [-0, TINY],
  [1, 1 + Number.EPSILON],
  [-TINY, -0],
  [HUGE, Infinity],
  [-HUGE, -HUGE * (1 - Number.EPSILON / 2)],
])('the double above %d is %d', (value, next) => {
  expect(nextUp(value)).toBe(next)
})
