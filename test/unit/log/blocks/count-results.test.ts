import { expect, test } from 'vitest'
import { BlockEncoder } from '../../../../src/log/blocks/block-encoder.ts'
import { countResults } from '../../../../src/log/blocks/count-results.ts'
import { readCounted } from '../../../../src/log/blocks/result-counts.ts'
import { type PayloadOrder, recordPayload } from '../../../support/score-log/record-payloads.ts'

const FEATURES = 4
const narrow = {
  modelId: 'mod_1',
  challengerId: null,
  features: FEATURES,
  bytesPerCell: 1 as const,
}

interface Drawn {
  readonly score: number
  readonly cells?: readonly number[]
}

/** A request of one applicant. */
function payload({ score, cells }: Drawn, order: Partial<PayloadOrder> = {}): Buffer {
  const result = { score, pd: 0.5, grade: 0, warnings: 0, cells: cells ?? [4, 5, 3, 0] }
  const rows = [{ id: null, results: [result] }]
  return recordPayload({ models: [narrow], rows, scoredAtMs: 1_795_003_200_000, ...order })
}

function encoded(payloads: readonly Buffer[]) {
  const encoder = new BlockEncoder(new Map())
  for (const one of payloads) encoder.add(one)
  const block = encoder.encode()
  if (block === null) throw new Error('nothing was encoded')
  return block
}

function counted(payloads: readonly Buffer[], deploymentId = 'dep_1') {
  const { counts, checksum } = encoded(payloads)
  return counts && readCounted(counts, checksum, { teamId: 'team_1', deploymentId })
}

const many = (count: number, draw: (n: number) => Drawn, order?: Partial<PayloadOrder>) =>
  Array.from({ length: count }, (_, n) => payload(draw(n), order))

test('a block has the number of results by cell and by score, and their exact sum', () => {
  const found = counted(
    many(100, (n) => ({ score: n % 2 === 0 ? -0.5 : 612, cells: [4 + (n % 3), 255, 0, 3] })),
  )
  expect(found).toEqual([
    {
      modelId: 'mod_1',
      isServed: true,
      hasReferences: false,
      n: 100,
      scoreSum: [50 * 611.5],
      scores: [-0.5, 50, 612, 50],
      cells: [
        [4, 34, 5, 33, 6, 33],
        [255, 100],
        [0, 100],
        [3, 100],
      ],
    },
  ])
})

test('cells of two bytes are counted as they are', () => {
  const wide = { ...narrow, bytesPerCell: 2 as const }
  const cells = [4, 9_999, 256, 65_535]
  const found = counted(many(70, () => ({ score: 1, cells }), { models: [wide] }))
  expect(found?.[0]?.cells).toEqual(cells.map((cell) => [cell, 70]))
})

test.each([
  ['halves', (n: number) => (n % 40) / 2 - 5],
  ['what no double of few bits has', (n: number) => (n % 10) / 10],
  ['very large numbers', (n: number) => 2 ** 60 * (n % 3)],
])('scores of %s come back to the bit', (_, draw) => {
  const scores = new Map<number, number>()
  for (let n = 0; n < 100; n++) scores.set(draw(n), (scores.get(draw(n)) ?? 0) + 1)
  const expected = [...scores].sort(([a], [b]) => a - b).flat()
  expect(counted(many(100, (n) => ({ score: draw(n) })))?.[0]?.scores).toEqual(expected)
})

test.each([
  ['of nearly each applicant another one', 100, (n: number) => Math.sqrt(n)],
  ['of more than a thousand values', 3_000, (n: number) => n],
])('scores %s are not counted, but their sum is', (_, count, draw) => {
  const [found] = counted(many(count, (n) => ({ score: draw(n) }))) ?? []
  expect(found).toMatchObject({ n: count, scores: null, hasReferences: false })
  expect(found?.scoreSum.length).toBeGreaterThan(0)
})

test('a reference of one applicant is known of all of the same model', () => {
  const others = many(99, () => ({ score: 1 }))
  const one = payload({ score: 1 }, { reference: 'A-1' })
  expect(counted([...others, one])?.[0]).toMatchObject({ n: 100, hasReferences: true })
})

test('a deployment whose counts take about as much room as its results has none', () => {
  expect(counted(many(63, () => ({ score: 1 })))).toBe(null)
  const few = many(10, () => ({ score: 1 }), { deploymentId: 'dep_2' })
  const both = [...many(100, () => ({ score: 1 })), ...few]
  expect(counted(both, 'dep_1')).toHaveLength(1)
  expect(counted(both, 'dep_2')).toBe(null)
  const scattered = (n: number) => ({
    score: 1,
    cells: [n, 255 - n, n, 255 - n].map((x) => x % 100),
  })
  expect(counted(many(100, scattered))).toBe(null)
})

test.each([Number.NaN, Infinity, 1e300])('a score of %s leaves its deployment out', (score) => {
  const order = { deploymentId: 'dep_2' }
  const sound = many(100, () => ({ score: 1 }))
  const damaged = [...many(99, () => ({ score: 1 }), order), payload({ score }, order)]
  expect(counted([...sound, ...damaged], 'dep_1')).toHaveLength(1)
  expect(counted([...sound, ...damaged], 'dep_2')).toBe(null)
})

test('the counts of a block take about 64 KiB at most', () => {
  const applicants = Array.from({ length: 150 }, (_, deployment) =>
    many(200, (n) => ({ score: n % 100, cells: [n % 40, n % 30, n % 30, n % 30] }), {
      deploymentId: `dep_${deployment}`,
    }),
  ).flat()
  const { counts } = encoded(applicants)
  expect(counts?.length).toBeLessThan(68_000)
  expect(counts?.length).toBeGreaterThan(60_000)
})

// A merge counts on the thread that scores.
test('a block of many deployments is counted in at least one step for each', () => {
  const zeros = new Uint8Array(64)
  const results = {
    modelId: 'mod_1',
    features: 1,
    marks: zeros,
    scores: [...zeros],
    readCells: () => ({ bytes: zeros, at: 0, step: 1, bytesPerCell: 1 as const }),
  }
  const groups = Array.from({ length: 150 }, (_, n) => ({
    teamId: 'team_1',
    deploymentId: `dep_${n}`,
    rows: 64,
    countable: () => [results],
  }))
  expect([...countResults(0, groups)].length).toBeGreaterThanOrEqual(150)
})

const OWNER = { teamId: 'team_1', deploymentId: 'dep_1' }

test('counts of another content or team are none, and damaged ones are refused', () => {
  const { counts, checksum } = encoded(many(100, () => ({ score: 1 })))
  if (counts === null) throw new Error('nothing was counted')
  expect(readCounted(counts, checksum, OWNER)).toHaveLength(1)
  expect(readCounted(counts, checksum, { ...OWNER, teamId: 'team_2' })).toBe(null)
  expect(readCounted(counts, checksum ^ 1, OWNER)).toBe(null)
  for (let byte = 0; byte < counts.length; byte++) {
    const changed = Buffer.from(counts)
    changed[byte] = (changed[byte] ?? 0) ^ 8
    expect(() => readCounted(changed, checksum, OWNER)).toThrow(RangeError)
  }
})
