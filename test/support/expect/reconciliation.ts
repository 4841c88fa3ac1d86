import { sql } from 'drizzle-orm'
import { expect } from 'vitest'
import { rowsOf } from '../../src/db/client.ts'
import type { TestDatabase } from './databases.ts'
import { withDatabase } from './prepared.ts'
import type { ScoreLoad } from './score-load.ts'

/** The log and the rollups must hold what the client has heard; and more only where he was cut off. */
export async function expectReconciled(
  database: TestDatabase,
  { answered, results, refused, broken }: ScoreLoad,
): Promise<void> {
  const { rows, inRollups } = await withDatabase(database, async (db) => ({
    rows: await rowsOf<{ request_id: string; served: number }>(
      db,
      sql`select request_id, cardinality(served_scores) as served from score_log`,
    ),
    inRollups: await rowsOf<{ results: number }>(
      db,
      sql`select sum(result_count)::float8 as results from score_rollups where span = 'day'`,
    ),
  }))
  const logged = new Map(rows.map(({ request_id, served }) => [request_id, Number(served)]))
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
  expect(inRollups[0]?.results).toBe(inLog)
  expect(rows.length - answered.size).toBeLessThanOrEqual(broken)
  expect([...refused]).toEqual([])
  expect(answered.size).toBeGreaterThan(50)
}
