import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TooManyReferencesError } from '../../../../src/log/reading/reference-set.ts'
import { ReferenceTable } from '../../../../src/reports/backtest/reference-table.ts'

const scoring = fc.record({
  reference: fc.constantFrom(
    '',
    'A',
    'B',
    'A-1',
    '1',
    'ä',
    'a longer reference of 40 characters .',
  ),
  atMs: fc.integer({ min: 0, max: 3 }),
  index: fc.nat(2),
})

test.each(['first', 'last'] as const)(
  'the %s scoring of each reference counts, by time, then record index, then order',
  (keeps) => {
    fc.assert(
      fc.property(fc.array(scoring, { maxLength: 40 }), (scorings) => {
        const table = new ReferenceTable(keeps, 100)
        for (const { reference, atMs, index } of scorings) table.note(reference, atMs, index)
        const taken = scorings.map(({ reference, atMs, index }) =>
          table.takes(reference, atMs, index),
        )
        const best = new Map<string, number>()
        for (const [at, one] of scorings.entries()) {
          const other = scorings[best.get(one.reference) ?? -1]
          const order = other === undefined ? 0 : one.atMs - other.atMs || one.index - other.index
          if (other === undefined || (keeps === 'last' ? order >= 0 : order < 0))
            best.set(one.reference, at)
        }
        expect(taken).toEqual(scorings.map((_, at) => [...best.values()].includes(at)))
        expect(table.size).toBe(best.size)
      }),
    )
  },
)

test('a table keeps many references apart, and refuses more than its bound', () => {
  const table = new ReferenceTable('last', 200_000)
  for (let n = 0; n < 200_000; n++) table.note(`A-${n}`, n, 0)
  for (let n = 0; n < 200_000; n += 2) table.note(`A-${n}`, n + 200_000, 0)
  expect(table.size).toBe(200_000)
  let taken = 0
  for (let n = 0; n < 200_000; n++) {
    if (table.takes(`A-${n}`, n % 2 === 0 ? n + 200_000 : n, 0)) taken++
  }
  expect(taken).toBe(200_000)
  expect(() => table.note('another', 0, 0)).toThrow(TooManyReferencesError)
})
