import { describe, expect, test } from 'vitest'
import { checkApplicant, checkRecord } from '../../../../clients/typescript/src/applicant.ts'
import { isRepeatable, urlOf } from '../../../../clients/typescript/src/calls.ts'

describe('the URL of a call', () => {
  test('holds its parameters, encoded, and lists as repeated parameters', () => {
    const input = {
      path: { slug: 'dep_1/../x' },
      query: { cutoff: [480, 500.5], to: undefined, dedupe: 'last' },
    }
    expect(urlOf('/v1/deployments/{slug}/cutoffs', input)).toBe(
      '/v1/deployments/dep_1%2F..%2Fx/cutoffs?cutoff=480&cutoff=500.5&dedupe=last',
    )
  })

  // An empty slug would call another endpoint.
  test('is refused where a parameter of the path is empty', () => {
    const url = () => urlOf('/v1/models/{id}', { path: { id: '' } })
    expect(url).toThrow('/v1/models/{id} needs the path parameter id')
  })
})

test('a call is repeatable when it reads, sets a state, or has an idempotency key', () => {
  expect(isRepeatable('GET', '/v1/models', false)).toBe(true)
  expect(isRepeatable('PUT', '/v1/outcome-definitions/{id}', false)).toBe(true)
  expect(isRepeatable('POST', '/v1/score/{slug}', true)).toBe(true)
  expect(isRepeatable('POST', '/v1/outcomes', false)).toBe(true)
  expect(isRepeatable('POST', '/v1/score/{slug}', false)).toBe(false)
  expect(isRepeatable('POST', '/v1/backtests', false)).toBe(false)
  expect(isRepeatable('DELETE', '/v1/keys/{id}', false)).toBe(false)
})

describe('an applicant', () => {
  test('has numbers, texts and missing values', () => {
    expect(() =>
      checkApplicant({ age: 35, purpose: 'car', income: null, housing: undefined }),
    ).not.toThrow()
  })

  // JSON writes NaN as null: the applicant would be scored as one without an income.
  test.each([
    [Number.NaN, 'a number that is not finite'],
    [Number.POSITIVE_INFINITY, 'a number that is not finite'],
    [true, 'a boolean'],
    [10n, 'a bigint'],
    [[1], 'an array'],
    [new Date(0), 'a date'],
    [{ amount: 1 }, 'an object'],
  ])('with the value %s is refused, by the name of the feature', (value, kind) => {
    const check = () => checkApplicant({ age: 35, income: value }, 'record 7: ')
    expect(check).toThrow(`record 7: income is ${kind}: send a finite number`)
  })

  // The service ignores such an id, and the results would look like those of other records.
  test.each([2 ** 53, -(2 ** 53), 1e21])('with the id %d is refused in a batch', (id) => {
    const check = () => checkRecord({ id, age: 35 }, 'record 7: ')
    expect(check).toThrow('record 7: id is a number beyond 2^53 - 1: send it as a text')
  })

  test.each([2 ** 53 - 1, -1.5, '9007199254740993', null, undefined])(
    'with the id %s is taken in a batch',
    (id) => {
      expect(() => checkRecord({ id, age: 35 }, '')).not.toThrow()
    },
  )
})
