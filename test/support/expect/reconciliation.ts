import { sql } from 'drizzle-orm'
import { expect } from 'vitest'
import { type Database, rowsOf } from '../../../src/platform/db/client.ts'
import { readSums } from '../../../src/score-log/blocks/block-sums.ts'
import type { ScoreLoad } from '../load/score-load.ts'
import { loggedFacts } from '../score-log/log-rows.ts'
import type { TestDatabase } from '../start/databases.ts'
import { withDatabase } from '../start/seeded-database.ts'

/** The log and the rollups must hold what the client has heard; and more only where it was cut off. */
export async function expectReconciled(
  database: TestDatabase,
  { answered, results, refused, broken }: ScoreLoad,
): Promise<void> {
  const { rows, inRollups } = await withDatabase(database, async (db) => ({
    rows: await loggedFacts(db),
    inRollups: await resultsInRollups(db),
  }))
  const logged = new Map(rows.map(({ requestId, applicants }) => [requestId, applicants]))
  const inLog = [...logged.values()].reduce((sum, count) => sum + count, 0)
  const figures = {
    answered: answered.size,
    answeredResults: results,
    logged: rows.length,
    loggedResults: inLog,
    lost: [...answered].filter(([id, count]) => logged.get(id) !== count).length,
    twice: rows.length - logged.size,
  }
  if (process.env['SCORELINE_TEST_KILLS'] !== undefined)
    process.stdout.write(`${JSON.stringify(figures)}\n`)
  expect(figures).toMatchObject({ lost: 0, twice: 0 })
  expect(inRollups).toBe(inLog)
  expect(rows.length - answered.size).toBeLessThanOrEqual(broken)
  expect([...refused]).toEqual([])
  expect(answered.size).toBeGreaterThan(50)
}

/** Results in the rollups of days, and in blocks that are not summed. */
async function resultsInRollups(db: Database): Promise<number> {
  const [summed] = await rowsOf<{ results: number | null }>(
    db,
    sql`select sum(result_count)::float8 as results from score_rollups where span = 'day'`,
  )
  const unsummed = await rowsOf<{ sums: Uint8Array }>(
    db,
    sql`select sums from score_blocks where not is_summed`,
  )
  const ofBlocks = unsummed.flatMap(({ sums }) => readSums(Buffer.from(sums)))
  return ofBlocks.reduce((sum, { rollup }) => sum + rollup.resultCount, summed?.results ?? 0)
}
