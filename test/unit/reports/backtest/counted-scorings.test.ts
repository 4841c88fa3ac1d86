import { expect, test } from 'vitest'
import type { CellColumns } from '../../../../src/log/reading/cell-columns.ts'
import { CountedScorings } from '../../../../src/reports/backtest/reference-table.ts'

interface Row {
  readonly reference: string | null
  readonly atMs: number
}

/** Single scorings as columns of one part. */
function readColumns(rows: readonly Row[]): CellColumns {
  return {
    models: [],
    wanted: Int32Array.from(rows.keys()),
    requestOfRow: Int32Array.from(rows.keys()),
    requestId: (request) => `req_${request}`,
    scoredAtMs: (request) => rows[request]?.atMs ?? 0,
    served: () => 0,
    recordIndex: () => 0,
    reference: (row) => rows[row]?.reference ?? null,
  }
}

const PARTS = [
  [
    { reference: 'A', atMs: 1 },
    { reference: null, atMs: 1 },
    { reference: 'B', atMs: 2 },
  ],
  [
    { reference: 'A', atMs: 5 },
    { reference: 'A', atMs: 3 },
    { reference: null, atMs: 9 },
  ],
]

// A retry would else make a card look as sure as twice the applicants.
test.each([
  [
    'last',
    [
      [1, 2],
      [0, 2],
    ],
  ],
  ['first', [[0, 1, 2], [2]]],
  [
    'none',
    [
      [0, 1, 2],
      [0, 1, 2],
    ],
  ],
] as const)(
  'with dedupe %s each reference counts as told, and who has none always',
  async (dedupe, kept) => {
    const parts = PARTS.map(readColumns)
    const open = async function* () {
      yield parts
    }
    const counted = await CountedScorings.read(dedupe, open, new AbortController().signal)
    expect(parts.map((part) => [...counted.of(part).wanted])).toEqual(kept)
  },
)

test('a cancelled job reads no further', async () => {
  const ending = new AbortController()
  let portions = 0
  const open = async function* () {
    for (;;) {
      portions++
      if (portions === 3) ending.abort(new Error('cancelled'))
      yield [readColumns([{ reference: 'A', atMs: 1 }])]
    }
  }
  const read = CountedScorings.read('last', open, ending.signal)
  await expect(read).rejects.toThrow('cancelled')
  expect(portions).toBe(3)
})
