import { expect, test } from 'vitest'
import { LogReader } from '../../../../src/log/reading/log-reader.ts'
import { readPosition, writeMoment } from '../../../../src/log/reading/service.ts'

const TEAM = 'team_1'

interface Scored {
  readonly atMs: number
  readonly reference: string
}

/** A block of the log with single scores. */
function makeBlock(scores: readonly Scored[], teamId = TEAM) {
  return {
    firstAtMs: Math.min(...scores.map(({ atMs }) => atMs)),
    lastAtMs: Math.max(...scores.map(({ atMs }) => atMs)),
    count: scores.length,
    modelIds: [],
    isBatch: () => false,
    teamId: () => teamId,
    applicants: scores.length,
    scoredAtMs: (index: number) => scores[index]?.atMs,
    reference: (index: number) => scores[index]?.reference,
    request: (index: number) => ({
      requestId: `req_${scores[index]?.reference.padStart(22, '0')}`,
      scoredAtMs: scores[index]?.atMs,
    }),
  }
}

/** Follows the pages of a search for `a` to the end. */
async function searchAll(blocks: ReturnType<typeof makeBlock>[], applicantsMax: number) {
  let opened = 0
  const newestFirst = blocks.toSorted((one, other) => other.lastAtMs - one.lastAtMs)
  const reader = new LogReader({
    blocks: {
      async *blocksIn({ toMs }: { toMs: number }) {
        yield* newestFirst.filter(({ firstAtMs }) => firstAtMs < toMs)
      },
      open: (block: object) => {
        opened++
        return { ...block, applicants: () => 1 }
      },
    } as never,
    models: { compiled: async () => new Map() } as never,
  })
  const found: string[] = []
  const openedBy: number[] = []
  let before: ReturnType<typeof readPosition> | null = null
  do {
    opened = 0
    const bound = { applicantsMax, searchedAfterMs: null as number | null }
    const range = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
    const query = { teamId: TEAM, deploymentId: null, reference: 'a', ...range, before }
    for await (const { requestId } of reader.searchPart(query, bound)) found.push(requestId)
    openedBy.push(opened)
    const { searchedAfterMs } = bound
    before = searchedAfterMs === null ? null : readPosition(writeMoment(searchedAfterMs))
  } while (before !== null)
  return { found: found.map((id) => id.replace(/^req_0*/, '')), openedBy }
}

// Blocks of replicas overlap, and several can end at one moment. A page that begins where the page
// before it began would never end.
test('pages of a search by a part find each score once, newest first, and come to an end', async () => {
  const blocks = [
    makeBlock([
      { atMs: 12, reference: 'A12' },
      { atMs: 5, reference: 'a5' },
    ]),
    makeBlock([
      { atMs: 10, reference: 'xA10' },
      { atMs: 9, reference: 'b9' },
    ]),
    makeBlock([
      { atMs: 10, reference: 'yA10' },
      { atMs: 8, reference: 'A8' },
    ]),
    makeBlock([
      { atMs: 3, reference: 'b3' },
      { atMs: 2, reference: 'ba2' },
    ]),
  ]
  const wanted = ['A12', 'yA10', 'xA10', 'A8', 'a5', 'ba2']
  for (const applicantsMax of [1, 2, 3, 100]) {
    const { found } = await searchAll(blocks, applicantsMax)
    expect(found, `${applicantsMax} applicants`).toEqual(wanted)
  }
})

test('a page of a search by a part opens no more blocks than its bound allows', async () => {
  const blocks = Array.from({ length: 40 }, (_, number) =>
    makeBlock([{ atMs: 100 + number, reference: `b${number}` }]),
  )
  const { found, openedBy } = await searchAll(blocks, 10)
  expect(found).toEqual([])
  expect(openedBy).toEqual([10, 10, 10, 10])
})

// A team with few scores in a large log would else open every block there is.
test('blocks of other teams count for the bound of a search by a part', async () => {
  const blocks = Array.from({ length: 40 }, (_, number) =>
    makeBlock([{ atMs: 100 + number, reference: `a${number}` }], 'team_2'),
  )
  const { found, openedBy } = await searchAll(blocks, 10)
  expect(found).toEqual([])
  expect(openedBy).toEqual([10, 10, 10, 10])
})
