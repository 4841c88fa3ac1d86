import { expect, test } from 'vitest'
import { ResultSums } from '../../../../src/log/archive/part-writer.ts'
import { manifestText } from '../../../../src/log/archive/tidier.ts'
import { formatFileKey, formatManifestKey } from '../../../../src/log/archive/written-part.ts'

const DAY = Date.parse('2026-11-21T00:00:00Z')

test('files have names that follow from the day alone', () => {
  const name = { dayMs: DAY, kind: 'part', number: 3, generation: 2 } as const
  expect(formatFileKey(name)).toBe('dt=2026-11-21/part-00003-g2.parquet')
  expect(formatFileKey({ ...name, kind: 'late' })).toBe('dt=2026-11-21/late-00003-g2.parquet')
  expect(formatManifestKey(DAY)).toBe('dt=2026-11-21/_manifest.json')
})

test('the manifest of a day has all that a reader of the files checks', () => {
  const name = { dayMs: DAY, kind: 'part', number: 0, generation: 1 } as const
  const file = {
    name,
    key: formatFileKey(name),
    rowCount: 5,
    records: 2,
    applicants: 5,
    bytes: 1_000,
    sha256: Buffer.from('ab', 'hex'),
    rowGroups: [{ rows: 5, firstRequestId: 'req_1', lastRequestId: 'req_2' }],
  }
  expect(JSON.parse(manifestText(DAY, [file]))).toEqual({
    version: 1,
    day: '2026-11-21',
    files: [
      {
        name: 'part-00000-g1.parquet',
        generation: 1,
        rows: 5,
        requests: 2,
        applicants: 5,
        bytes: 1_000,
        sha256: 'ab',
        row_groups: [{ rows: 5, first_request_id: 'req_1', last_request_id: 'req_2' }],
      },
    ],
  })
})

const computeSum = (results: readonly (readonly [number | null, number | null])[]) => {
  const sums = new ResultSums()
  for (const [score, pd] of results) sums.add(score, pd)
  return String(sums)
}

// A file is compared with its blocks by these sums, before the blocks are dropped.
test('sums of results do not depend on their order, and change with each bit', () => {
  const results: readonly (readonly [number | null, number | null])[] = [
    [612.5, 0.03],
    [null, null],
    [0.1 + 0.2, null],
    [-12, 0.5],
  ]
  const sum = computeSum(results)
  expect(computeSum(results.toReversed())).toBe(sum)
  const others = [
    results.slice(1),
    [...results, [null, null] as const],
    results.with(2, [0.3, null]),
    results.with(0, [0.03, 612.5]),
    results.with(1, [0, null]),
  ]
  for (const other of others) expect(computeSum(other)).not.toBe(sum)
})
