import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  ReferenceTable,
  TooManyReferencesError,
} from '../../../../src/score-log/reading/reference-table.ts'

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
  isUtf8: fc.boolean(),
  period: fc.nat(1),
  atMs: fc.integer({ min: 0, max: 3 }),
  index: fc.nat(2),
})

/** Hands over a reference, as a text or as bytes amid others. */
function handOver(table: ReferenceTable, reference: string, isUtf8: boolean): void {
  if (!isUtf8) {
    table.ofText(reference)
    return
  }
  const bytes = Buffer.from(`[${reference}]`)
  table.ofUtf8(bytes, 1, bytes.length - 1)
}

// One block has the reference as bytes, and the first form of the log as a text.
test.each(['first', 'last'] as const)(
  'the %s scoring of each reference counts, by time, then record index, then order',
  (keeps) => {
    fc.assert(
      fc.property(fc.array(scoring, { maxLength: 40 }), (scorings) => {
        const table = new ReferenceTable(keeps, 100)
        for (const { reference, isUtf8, period, atMs, index } of scorings) {
          handOver(table, reference, isUtf8)
          table.note(period, atMs, index)
        }
        const taken = scorings.map(({ reference, isUtf8, period, atMs, index }) => {
          handOver(table, reference, !isUtf8)
          return table.takes(period, atMs, index)
        })
        const best = new Map<string, number>()
        for (const [at, one] of scorings.entries()) {
          const name = `${one.period} ${one.reference}`
          const other = scorings[best.get(name) ?? -1]
          const order = other === undefined ? 0 : one.atMs - other.atMs || one.index - other.index
          if (other === undefined || (keeps === 'last' ? order >= 0 : order < 0)) best.set(name, at)
        }
        expect(taken).toEqual(scorings.map((_, at) => [...best.values()].includes(at)))
        expect([table.size, table.taken]).toEqual([best.size, best.size])
      }),
    )
  },
)

test('a table keeps many references apart, and refuses more than its bound', () => {
  const table = new ReferenceTable('last', 200_000)
  const note = (reference: string, atMs: number) => {
    table.ofText(reference)
    table.note(0, atMs, 0)
  }
  for (let n = 0; n < 200_000; n++) note(`A-${n}`, n)
  for (let n = 0; n < 200_000; n += 2) note(`A-${n}`, n + 200_000)
  expect(table.size).toBe(200_000)
  for (let n = 0; n < 200_000; n++) {
    table.ofText(`A-${n}`)
    table.takes(0, n % 2 === 0 ? n + 200_000 : n, 0)
  }
  expect(table.taken).toBe(200_000)
  expect(() => note('another', 0)).toThrow(TooManyReferencesError)
})
