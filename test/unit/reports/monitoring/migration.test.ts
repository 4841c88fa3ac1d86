import { Session } from 'node:inspector/promises'
import { expect, test } from 'vitest'
import { scanApplicants } from '../../../../src/log/reading/applicant-scan.ts'
import { MigrationTally, PAIRS_MAX } from '../../../../src/reports/monitoring/migration.ts'
import { processorMs } from '../../../support/expect/processor-time.ts'
import { findLog, scanned } from '../../../support/score-log/scanned.ts'

const QUERY = { teamId: 'team_1', deploymentId: 'dep_1', fromMs: 0, toMs: 1 }

/** A log of applicants with these grades by the champion and the challenger; -1 for none. */
function graded(names: readonly string[], pairs: readonly (readonly [number, number])[]) {
  const columns = scanned(
    ['a', 'b'],
    pairs.map(() => ({
      results: [
        { score: 1, pd: 0.1 },
        { score: 2, pd: 0.2 },
      ],
    })),
  )
  const models = columns.models.map((model, position) => ({
    ...model,
    grades: Int16Array.from(pairs, (pair) => pair[position] ?? -1),
    gradeNames: names,
  }))
  return findLog({ ...columns, models })
}

async function readMigration(
  names: readonly string[],
  pairs: readonly (readonly [number, number])[],
  pairsMax?: number,
) {
  const tally = new MigrationTally('ch_b', pairsMax)
  const log = graded(names, pairs)
  await scanApplicants({ log, query: QUERY, dedupe: 'none' }, tally.makeReader)
  return tally
}

test('cells have the order of the card, other grades next and none last', async () => {
  const pairs = [
    [2, 0],
    [-1, 1],
    [0, 0],
    [0, 1],
    [0, 1],
    [1, -1],
  ] as const
  const report = (await readMigration(['A', 'B', 'old'], pairs)).report(['A', 'B'])
  expect(report.n).toBe(6)
  // Both models give four of them a grade.
  expect(report).toMatchObject({ n_graded: 4, stable_share: 1 / 4 })
  const rows = report.cells.map((cell) => [cell.champion_grade, cell.challenger_grade, cell.n])
  expect(rows).toEqual([
    ['A', 'A', 1],
    ['A', 'B', 2],
    ['B', null, 1],
    ['old', 'A', 1],
    [null, 'B', 1],
  ])
  expect(report.cells[1]).toMatchObject({ row_share: 2 / 3, mean_pd_champion: 0.1 })
})

test('applicants without a grade keep none', async () => {
  const pairs = [
    [-1, -1],
    [-1, 0],
  ] as const
  const report = (await readMigration(['A'], pairs)).report(['A'])
  expect(report).toMatchObject({ n: 2, n_graded: 0, stable_share: null })
})

// A card can have hundreds of grades; the report is made on the thread that others wait for.
test('a report over 250,000 pairs of grades is made at once', async () => {
  const names = Array.from({ length: 500 }, (_, grade) => `G${grade}`)
  const pairs = names.flatMap((_, from) => names.map((_, to) => [from, to] as const))
  const tally = await readMigration(names, pairs)
  const beganMs = processorMs()
  expect(tally.report(names).cells).toHaveLength(250_000)
  expect(processorMs() - beganMs).toBeLessThan(4_000)
})

// A card can have a thousand grades: a million pairs would take the memory of all reports.
test('applicants with more pairs of grades than are counted are refused', async () => {
  const pairs = [
    [0, 0],
    [0, 1],
    [1, 0],
    [0, 1],
  ] as const
  expect((await readMigration(['A', 'B'], pairs, 3)).report(['A', 'B'])).toMatchObject({ n: 4 })
  await expect(readMigration(['A', 'B'], pairs, 2)).rejects.toMatchObject({
    code: 'invalid_request',
  })
})

test('what the most pairs of grades take is what the tally says', async () => {
  const side = Math.sqrt(PAIRS_MAX)
  const names = Array.from({ length: side }, (_, grade) => `grade ${grade}`)
  const pairs = Array.from(
    { length: PAIRS_MAX },
    (_, pair) => [Math.floor(pair / side), pair % side] as const,
  )
  const { memoryMiB } = await readMigration(names, pairs)
  const before = await usedHeapMiB()
  const tally = await readMigration(names, pairs)
  expect((await usedHeapMiB()) - before).toBeLessThan(memoryMiB)
  expect(tally.report(names).n).toBe(PAIRS_MAX)
})

/** Memory that is in use. */
async function usedHeapMiB(): Promise<number> {
  const session = new Session()
  session.connect()
  await session.post('HeapProfiler.collectGarbage')
  session.disconnect()
  return process.memoryUsage().heapUsed / 2 ** 20
}
