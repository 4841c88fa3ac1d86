import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { formatLeafText } from '../../../../src/log/proof/leaves.ts'
import { type PayloadRow, recordPayload } from '../../../support/score-log/record-payloads.ts'
import { readTrees } from '../../../support/score-log/trees.ts'

const NONE = 0xffff_ffff
const CHAMPION = { modelId: 'mod_1', challengerId: null, features: 3, bytesPerCell: 1 } as const
const CHALLENGER = { modelId: 'mod_2', challengerId: 'ch_2', features: 2, bytesPerCell: 2 } as const
const scored = (score: number, pd: number, grade: number) => ({
  score,
  pd,
  grade,
  warnings: 2,
  cells: [0, 7, 255],
})
const ROWS: PayloadRow[] = [
  { id: null, results: [scored(612.5, 1e-7, 3), null] },
  { id: 12, results: [scored(-0, Number.NaN, NONE), scored(0.1 + 0.2, 0.5, 0)] },
  { id: 'é "1"', results: [scored(1e21, 1, 70_000), null] },
]
const payload = recordPayload({
  models: [CHAMPION, CHALLENGER],
  rows: ROWS.map(({ id, results }) => ({
    id,
    results: results.map((result, place) =>
      result === null ? null : { ...result, cells: place === 0 ? [0, 7, 255] : [1_003, 0] },
    ),
  })),
  deploymentId: 'dép "1"',
  cacheVersion: 3_000_000_000,
  scoredAtMs: 1_795_000_000_123.5,
  latencyUs: 1_234,
  bucket: 9_999,
  isBatch: true,
  requestId: 'req_1',
  reference: 'loan-7',
})

/** What docs say of a leaf, written as an object: `JSON.stringify` is the reference. */
function expectedLeaf(row: PayloadRow, index: number): string {
  return JSON.stringify({
    bucket: 9_999,
    cache_version: 3_000_000_000,
    deployment_id: 'dép "1"',
    engine_version: 1,
    is_batch: true,
    key_id: 'key_1',
    latency_us: 1_234,
    record_index: index,
    records: 3,
    request_id: 'req_1',
    results: [CHAMPION, CHALLENGER].map(({ modelId, challengerId }, place) => {
      const result = row.results[place] ?? null
      return {
        baseline_id: null,
        cells: result === null ? [] : place === 0 ? [0, 7, 255] : [1_003, 0],
        challenger_id: challengerId,
        grade: result === null || result.grade === NONE ? null : result.grade,
        model_id: modelId,
        pd: result?.pd ?? null,
        score: result?.score ?? null,
        spec_sha256: 'ab'.repeat(32),
        warnings: result?.warnings ?? 0,
      }
    }),
    scored_at_ms: 1_795_000_000_123.5,
    served: 0,
    team_id: 'team_1',
    version: 1,
  })
}

const sha256 = (...parts: (Buffer | string)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()

// Proofs that were given out must stay valid: not one byte of a leaf may change.
test('the leaf of each applicant is the JSON of what was answered', () => {
  expect(ROWS.map((_, index) => formatLeafText(payload, index))).toEqual(ROWS.map(expectedLeaf))
})

test('a score key changes no leaf', () => {
  const rows = [{ id: null, results: [scored(1, 1, 0)] }]
  const order = { models: [CHAMPION], rows, scoredAtMs: 1, requestId: 'req_1' }
  const keyed = recordPayload({ ...order, key: new Uint8Array(24).fill(7) })
  expect(formatLeafText(keyed, 0)).toBe(formatLeafText(recordPayload(order), 0))
})

test('cells, indexes and latencies of any number of digits are written whole', () => {
  const narrow = [0, 9, 10, 42, 99, 100, 255]
  const wide = [...narrow, 256, 999, 1_000, 9_999, 10_000, 65_535]
  const models = [
    { ...CHAMPION, features: narrow.length },
    { ...CHALLENGER, features: wide.length },
  ]
  const results = [narrow, wide].map((cells) => ({ ...scored(1, 0.5, 10), cells }))
  const rows = Array.from({ length: 101 }, () => ({ id: null, results }))
  for (const latencyUs of [0, 10, 4_294_967_295]) {
    const record = recordPayload({ models, rows, latencyUs, isBatch: true })
    for (const index of [0, 9, 10, 99, 100]) {
      const leaf = JSON.parse(formatLeafText(record, index))
      expect(leaf.results.map(({ cells }: { cells: number[] }) => cells)).toEqual([narrow, wide])
      expect(leaf).toMatchObject({ record_index: index, records: 101, latency_us: latencyUs })
    }
  }
})

test('the tree of a block holds the leaves in the order of time', () => {
  const older = recordPayload({ models: [CHAMPION], rows: [], scoredAtMs: 1 })
  const one = { id: null, results: [scored(1, 1, 0)] }
  const first = recordPayload({ models: [CHAMPION], rows: [one], scoredAtMs: 2 })
  const other = recordPayload({ models: [CHAMPION], rows: [one], scoredAtMs: 3, teamId: 'a' })
  const [a = Buffer.of(), b = Buffer.of(), c = Buffer.of(), d = Buffer.of()] = [
    formatLeafText(first, 0),
    ...ROWS.map(expectedLeaf),
  ].map((leaf) => sha256(Buffer.of(0), leaf))
  const node = Buffer.of(1)
  expect(readTrees([payload, older, other, first])).toEqual([
    { teamId: 'a', size: 1, root: sha256(Buffer.of(0), formatLeafText(other, 0)) },
    { teamId: 'team_1', size: 4, root: sha256(node, sha256(node, a, b), sha256(node, c, d)) },
  ])
})

test('a record that is cut off, or longer than its rows, has no leaves', () => {
  expect(() => readTrees([payload.subarray(0, -1)])).toThrow(RangeError)
  expect(() => readTrees([Buffer.concat([payload, Buffer.of(0)])])).toThrow('longer')
})
