import { describe, expect, test } from 'vitest'
import {
  isWorthAnother,
  retryAfterMsOf,
  waitMsOf,
} from '../../../../clients/typescript/src/retry.ts'

const NOW_MS = Date.parse('2026-11-20T09:30:00Z')

describe('another attempt', () => {
  test.each([
    [429, 'rate_limited', false, true],
    [409, 'idempotency_in_progress', false, true],
    [409, 'last_owner', true, false],
    [503, 'unavailable', true, true],
    [503, 'unavailable', false, false],
    [502, null, true, true],
    [504, null, false, false],
    [null, null, true, true],
    [null, null, false, false],
    [500, 'internal_error', true, false],
    [401, 'unauthorized', true, false],
    [301, null, true, false],
  ])('after %s %s, repeatable %s: %s', (status, code, isRepeatable, expected) => {
    expect(isWorthAnother({ status, code }, isRepeatable)).toBe(expected)
  })
})

describe('the wait before another attempt', () => {
  // Callers who were refused together must not come back together.
  test('is what the service orders, and up to a fifth or 50 ms more', () => {
    expect([waitMsOf(1, 1_000, 0), waitMsOf(4, 1_000, 0.5)]).toEqual([1_000, 1_100])
    expect([waitMsOf(1, 10, 0), waitMsOf(1, 10, 0.5)]).toEqual([10, 35])
  })

  test('is drawn below a bound that doubles up to 5 seconds where nothing is ordered', () => {
    const bounds = [1, 2, 3, 6, 7, 40].map((attempt) => waitMsOf(attempt, null, 1))
    expect(bounds).toEqual([100, 200, 400, 3_200, 5_000, 5_000])
    expect(waitMsOf(3, null, 0.25)).toBe(100)
    // A date that is past, and 0 seconds, order nothing.
    expect(waitMsOf(3, 0, 0.25)).toBe(100)
  })
})

describe('Retry-After', () => {
  test.each([
    ['7', 7_000],
    [' 0 ', 0],
    ['Fri, 20 Nov 2026 09:30:02 GMT', 2_000],
    ['Fri, 20 Nov 2026 09:29:00 GMT', 0],
    ['Friday, 20-Nov-26 09:30:02 GMT', 2_000],
    ['soon', null],
    // `Date.parse` finds a date in them.
    ['soon 5', null],
    ['-5', null],
    ['1.5', null],
    [null, null],
  ])('%s is %s ms', (header, expected) => {
    expect(retryAfterMsOf(header, NOW_MS)).toBe(expected)
  })
})
