import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { BatchReplica, hasEnded } from '../../../support/batches/replica.ts'
import { loggedFacts } from '../../../support/score-log/log-rows.ts'
import { backends } from '../../../support/start/databases.ts'
import { withDatabase } from '../../../support/start/seeded-database.ts'

const ROWS = 7_000
const FILE = `id,income\n${Array.from({ length: ROWS }, (_, row) => `A-${row},${(row % 5) - 2}\n`).join('')}`

describe.each(backends.slice(0, 1))('on $name', (backend) => {
  // Results that were downloaded name requests, with which their scores are explained and proved.
  test('a batch whose commits a failover lost has the same requests, times and results', async () => {
    const database = await backend.create()
    onTestFinished(() => database.drop())
    let replica = await BatchReplica.start(database)
    const slug = await replica.deploy()
    const id = await replica.send(slug, FILE)
    const batch = await replica.until(id, hasEnded)
    expect(batch).toMatchObject({ status: 'done', counts: { scored: ROWS, errors: 0 } })
    const before = await replica.results(id)
    expect(await replica.process.stop()).toBe(0)
    const logged = await withDatabase(database, async (db) => {
      const facts = await loggedFacts(db)
      // What the standby had: the batch as it was sent, and nothing of its chunks.
      for (const table of ['score_sums', 'score_blocks', 'log_tree_nodes', 'log_trees']) {
        await db.execute(sql`delete from ${sql.raw(table)}`)
      }
      await db.execute(sql`update batches set chunks = 0, "offset" = 0, lines = 0, scored = 0,
        errors = 0, warned = 0, result_bytes = 0, request_id = null`)
      await db.execute(sql`update jobs set status = 'queued', finished_at = null, result = null,
        attempts = 0, progress_done = 0, progress_total = 0,
        input = ${JSON.stringify({ batch_id: id })}::text::json where id = ${id}`)
      return facts
    })
    replica = await BatchReplica.start(database)
    await replica.until(id, hasEnded)
    expect(await replica.results(id)).toEqual(before)
    expect(await replica.process.stop()).toBe(0)
    const again = await withDatabase(database, loggedFacts)
    expect(again).toEqual(logged)
    expect(again.map(({ applicants }) => applicants)).toEqual([5_000, 2_000])
    const createdAtMs = Date.parse(batch.created_at)
    expect(again.map(({ scoredAtMs }) => scoredAtMs)).toEqual([createdAtMs, createdAtMs + 1])
    for (const { requestId } of again) expect(requestId).toMatch(/^req_[0-9A-Za-z]{22}$/)
  })
})
