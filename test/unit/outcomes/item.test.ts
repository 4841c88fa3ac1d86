import { describe, expect, test } from 'vitest'
import { readItem } from '../../../src/outcomes/item.ts'

/** The last year that tables hold: each moment of them is known. */
const NOW = Date.parse('2199-12-31T12:00:00Z')
const target = { request_id: 'req_1', kind: 'performance', definition: 'gb12' }
const performance = (fields: object) =>
  readItem({ ...target, outcome: 'bad', as_of: '2026-01-31', ...fields }, NOW)

// They are there in every object, and no table of fields has them.
test.each(['constructor', 'toString', 'hasOwnProperty'])('%s is not a field', (name) => {
  expect(performance({ [name]: 1 }).fault).toBe(`"${name}" is not a field of a performance`)
})

describe('moments of an outcome', () => {
  // PostgreSQL has no year 0, and reads no year beyond four digits.
  test.each([
    '0000-01-01',
    '0001-01-01T00:00:00Z',
    '1899-12-31',
    '1900-01-01T00:30+01:00',
    '2199-12-31T23:30:00-01:00',
    '2200-01-01',
    '9999-12-31T23:59:00-12:00',
    '2026-02-30',
  ])('%s is refused in every field, and the message has the years', (moment) => {
    for (const name of ['as_of', 'event_date', 'booked_at']) {
      const message = `${name} must be a date as 2026-01-31, or ISO 8601, in the years 1900 to 2199`
      expect(performance({ [name]: moment })).toEqual({ item: null, fault: message })
    }
    const decision = { request_id: 'req_1', kind: 'decision', decision: 'approved' }
    expect(readItem({ ...decision, decided_at: moment }, NOW).fault).toContain('1900 to 2199')
  })

  test.each(['1900-01-01', '2199-12-31', '2199-12-31T23:59:59.999Z', '2024-02-29T10:00+05:30'])(
    '%s is taken',
    (moment) => {
      expect(performance({ as_of: moment }).item?.fact.asOfMs).toBe(Date.parse(moment))
    },
  )
})
