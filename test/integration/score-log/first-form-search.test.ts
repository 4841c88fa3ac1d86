import { randomBytes } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Database } from '../../../src/platform/db/client.ts'
import { PostgresFirstFormStore } from '../../../src/score-log/reading/first-form-store.ts'
import type { LogPosition } from '../../../src/score-log/reading/log-query.ts'
import { LogReader } from '../../../src/score-log/reading/log-reader.ts'
import { LogRows } from '../../../src/score-log/reading/log-rows.ts'
import { SearchLimit } from '../../../src/score-log/reading/search-limit.ts'
import { hasPostgres, postgres } from '../../support/start/databases.ts'
import { openTestDatabase } from '../../support/start/seeded-database.ts'

const START = Date.parse('2026-03-04T10:00:00Z')
const QUERY = { teamId: 'team_1', deploymentId: null, fromMs: -Infinity, toMs: Infinity }

/**
 * Adds requests, one each millisecond.
 *
 * @param results SQL of the results of the request `n`
 */
function insert(db: Database, count: number, isBatch: boolean, results: ReturnType<typeof sql>) {
  return db.execute(sql`insert into score_log (scored_at, request_id, team_id, deployment_id, key_id,
      cache_version, bucket, latency_ms, is_batch, served_model_id, served_scores, served_pds,
      served_grades, results)
    select to_timestamp((${START}::float8 + n) / 1000), 'req_' || ${isBatch} || lpad(n::text, 9, '0'),
      'team_1', 'dep_1', 'key_1', 1, null, 1, ${isBatch}, 'mod_1', '{1}', '{0.5}', '[null]', ${results}
    from generate_series(0, ${count - 1}::integer) as n`)
}

const RESULTS = (id: string, text: string) =>
  `{"models":[{"model_id":"mod_1","role":"champion"}],"results":[["${id}",[1,0.5,null,0,"${text}"]]]}`

describe.skipIf(!hasPostgres)('a search of the first form', () => {
  async function open() {
    const database = await postgres.create()
    const handle = await openTestDatabase(database)
    onTestFinished(async () => {
      await handle.close()
      await database.drop()
    })
    return handle.db
  }

  // The table can have billions of rows of all teams, and no index for references.
  test('looks at 100,000 rows, and is gone on with where it has stopped', async () => {
    const db = await open()
    await insert(db, 1, true, sql`${RESULTS('A-1', '0')}::json`)
    await insert(db, 230_000, false, sql`'{}'::json`)
    const reader = new LogReader([new LogRows(new PostgresFirstFormStore(db))])
    const pages: string[][] = []
    let before: LogPosition | null = null
    do {
      const limit = new SearchLimit()
      const found: string[] = []
      for await (const { requestId } of reader.search({
        ...QUERY,
        reference: 'A-1',
        before,
        limit,
      })) {
        found.push(requestId)
      }
      pages.push(found)
      before = limit.stoppedAt
    } while (before !== null)
    expect(pages).toEqual([[], [], ['req_true000000000']])
    const found: string[] = []
    const unbound = reader.search({ ...QUERY, reference: 'A-1', before: null })
    for await (const { requestId } of unbound) found.push(requestId)
    expect(found).toEqual(['req_true000000000'])
    const store = new PostgresFirstFormStore(db)
    expect(await store.timeBehind(QUERY, 100_000)).toBe(START + 129_999)
    expect(await store.timeBehind(QUERY, 230_001)).toBeNull()
  })

  // A batch can have megabytes, and each is read to look for the reference in it.
  test('reads a few megabytes of batches with a statement, and finds each of them', async () => {
    const db = await open()
    // PostgreSQL can't compress it.
    const noise = randomBytes(1_250_000).toString('hex')
    await insert(db, 10, true, sql`${RESULTS('A-1', noise)}::json`)
    const store = new PostgresFirstFormStore(db)
    const statements: number[] = []
    let before: LogPosition | null = null
    for (;;) {
      const part = await store.search({ ...QUERY, reference: 'A-1', before })
      if (part.next === null) break
      statements.push(part.rows.length)
      before = part.next
    }
    // Each stops after the batch that exceeds 8 MiB.
    expect(statements).toEqual([4, 4, 2])
  })
})
