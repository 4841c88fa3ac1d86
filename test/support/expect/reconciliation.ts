import { sql } from 'drizzle-orm'
import { expect } from 'vitest'
import { readSums } from '../../../src/log/blocks/block-sums.ts'
import { type Database, queryRows } from '../../../src/platform/db/client.ts'
import type { ScoreLoad } from '../load/score-load.ts'
import { type LoggedFacts, loggedFacts } from '../score-log/log-rows.ts'
import type { TestDatabase } from '../start/databases.ts'
import { withDatabase } from '../start/seeded-database.ts'

interface Allowed {
  /** Whether scores may have been answered 503, as while the disk is full. */
  readonly mayRefuse?: boolean
}

/**
 * The log and the rollups must hold what the client has heard, and more only where it was cut off.
 * Prints the figures.
 */
export async function expectReconciled(
  database: Pick<TestDatabase, 'databaseUrl' | 'dataDir'>,
  { answered, results, refused, broken }: ScoreLoad,
  { mayRefuse = false }: Allowed = {},
): Promise<void> {
  const { rows, inRollups } = await withDatabase(database, async (db) => ({
    rows: await loggedFacts(db),
    inRollups: await resultsInRollups(db),
  }))
  const figures = readFigures(answered, rows)
  printFigures({ ...figures, answeredResults: results })
  expect(figures).toMatchObject({ lost: 0, twice: 0 })
  expect(inRollups).toBe(figures.loggedResults)
  expect(rows.length - answered.size).toBeLessThanOrEqual(broken)
  expect([...refused.keys()]).toEqual(mayRefuse ? [503] : [])
  expect(answered.size).toBeGreaterThan(50)
}

export interface LogFigures {
  readonly answered: number
  readonly logged: number
  readonly loggedResults: number
  readonly lost: number
  readonly twice: number
}

/**
 * Compares answers with the log.
 *
 * @param answered number of results by request id
 */
export function readFigures(
  answered: ReadonlyMap<string, number>,
  rows: readonly LoggedFacts[],
): LogFigures {
  const logged = new Map(rows.map(({ requestId, applicants }) => [requestId, applicants]))
  return {
    answered: answered.size,
    logged: rows.length,
    loggedResults: rows.reduce((sum, { applicants }) => sum + applicants, 0),
    lost: [...answered].filter(([id, count]) => logged.get(id) !== count).length,
    twice: rows.length - logged.size,
  }
}

/** Prints figures with the name of the test. */
export function printFigures(figures: object): void {
  const { currentTestName = '' } = expect.getState()
  process.stdout.write(`${currentTestName}: ${JSON.stringify(figures)}\n`)
}

/** Results in the rollups of days, and in sums that wait for them. */
export async function resultsInRollups(db: Database): Promise<number> {
  const [summed] = await queryRows<{ results: number | null }>(
    db,
    sql`select sum(result_count)::float8 as results from score_rollups where span = 'day'`,
  )
  const unsummed = await queryRows<{ sums: Uint8Array }>(db, sql`select sums from score_sums`)
  const ofBlocks = unsummed.flatMap(({ sums }) => readSums(Buffer.from(sums)))
  return ofBlocks.reduce((sum, { rollup }) => sum + rollup.resultCount, summed?.results ?? 0)
}
