import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/platform/clock.ts'
import { type Database, type DatabaseHandle, rowsOf } from '../../../src/platform/db/client.ts'
import { mergedRollup, rollupOf } from '../../../src/rollups/rollup.ts'
import { SPANS } from '../../../src/rollups/spans.ts'
import { Drain } from '../../../src/score-log/drain/drain.ts'
import { PostgresScoreLogStore } from '../../../src/score-log/drain/store.ts'
import {
  FIELD_SEPARATOR,
  RECORD_FIELDS,
  readRecordV3,
} from '../../../src/score-log/record/record-v3.ts'
import { loggedIds, rollupOver } from '../../support/score-log/log-rows.ts'
import { MemorySpool } from '../../support/score-log/memory-spool.ts'
import { loggedRecord, type RecordOrder, scoreRecord } from '../../support/score-log/records.ts'
import { backends } from '../../support/start/databases.ts'
import { openTestDatabase } from '../../support/start/seeded-database.ts'

const AT = Date.parse('2026-03-04T10:59:30.250Z')
const HOUR_MS = 3_600_000

/** Requests over three days, single and batch, on two deployments. */
const ORDERS: readonly RecordOrder[] = Array.from({ length: 60 }, (_, n) => ({
  scoredAtMs: AT + n * HOUR_MS + n,
  deploymentId: `dep_${n % 2}`,
  latencyMs: 0.5 + n / 7,
  isBatch: n % 5 === 0,
  scores:
    n % 5 === 0
      ? [
          [600 + n, 480, -20.5],
          [1, 2, 3],
        ]
      : [[500 + 7 * n]],
}))

describe.each(backends)('on $name', (backend) => {
  async function open(): Promise<DatabaseHandle> {
    const database = await backend.create()
    const handle = await openTestDatabase(database)
    onTestFinished(async () => {
      await handle.close()
      await database.drop()
    })
    return handle
  }

  /** Log and rollups must hold these, each once. */
  async function expectExactly(db: Database, logged: readonly ReturnType<typeof loggedRecord>[]) {
    const ids = logged.map(({ record }) => record.requestId)
    expect((await loggedIds(db)).toSorted()).toEqual(ids.toSorted())
    for (const deploymentId of new Set(logged.map(({ record }) => record.deploymentId))) {
      const own = logged.filter(({ record }) => record.deploymentId === deploymentId)
      const expected = mergedRollup(own.map(({ served }) => rollupOf(served)))
      for (const span of SPANS) {
        expect(await rollupOver(db, span, deploymentId)).toEqual({
          ...expected,
          scoreAvg: expect.closeTo(expected?.scoreAvg ?? Number.NaN, 9),
          pdAvg: expect.closeTo(expected?.pdAvg ?? Number.NaN, 12),
          latencyAvgMs: expect.closeTo(expected?.latencyAvgMs ?? Number.NaN, 9),
        })
      }
    }
  }

  // A batch comes again whenever its commit was not heard of.
  test('a batch that comes twice, in parts or amid others, counts once', async () => {
    const { db } = await open()
    const store = new PostgresScoreLogStore(db, 'a')
    const logged = ORDERS.map(loggedRecord)
    expect(await store.append(logged.slice(0, 40))).toEqual({ records: 40, results: 8 * 6 + 32 })
    expect(await store.append(logged.slice(0, 40))).toEqual({ records: 0, results: 0 })
    await expectExactly(db, logged.slice(0, 40))
    expect((await store.append(logged.slice(10, 50))).records).toBe(10)
    // A process that took over from another has rows of its own.
    const successor = new PostgresScoreLogStore(db, 'b')
    expect((await successor.append([...logged, ...logged.slice(50)])).records).toBe(10)
    await expectExactly(db, logged)
  })

  // What the rows held after the last batch is not read again: it must be right, whatever came
  // between.
  test('batches that fail, come again or overlap leave each request once in the rollups', async () => {
    const { db } = await open()
    const store = new PostgresScoreLogStore(db, 'a')
    const logged = ORDERS.map((order) => loggedRecord({ ...order, scoredAtMs: AT }))
    const poisoned = loggedRecord({ scoredAtMs: AT, deploymentId: 'dep_0', cacheVersion: 1e12 })
    const lost = loggedRecord({ scoredAtMs: AT, deploymentId: 'dep_1' })
    for (let at = 0; at < logged.length; at += 12) {
      const one = logged.slice(at, at + 4)
      const other = logged.slice(at + 4, at + 8)
      const third = logged.slice(at + 8, at + 12)
      await store.append(one)
      await db.execute(sql`alter table score_rollups rename to away`)
      await expect(store.append([lost])).rejects.toThrow()
      await db.execute(sql`alter table away rename to score_rollups`)
      await expect(store.append([...other, poisoned])).rejects.toThrow()
      // As after a try that was given up as overdue.
      await Promise.all([store.append(other), store.append(third)])
      await store.append([...one, ...third])
    }
    await expectExactly(db, logged)
  })

  test('a crash between the commit and its acknowledgement loses and doubles nothing', async () => {
    const { db } = await open()
    const spool = new MemorySpool()
    const acknowledge = spool.acknowledge.bind(spool)
    const records = ORDERS.map((order) => scoreRecord(order))
    const ends: Promise<void>[] = []
    for (const writer of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
      spool.acknowledge = async () => {
        throw new Error('the process ends here')
      }
      spool.append(...records.splice(0, 10))
      const drain = new Drain({
        spool,
        store: new PostgresScoreLogStore(db, writer),
        thread: null,
        clock: systemClock,
        log: { failing: () => undefined, recovered: () => undefined, quarantine: () => undefined },
        gatherMs: 0,
        batchRecordsMax: 20,
        batchBytesMax: 1e6,
      })
      drain.start()
      if (writer === 'g') spool.acknowledge = acknowledge
      ends.push(drain.close(10_000))
      await ends.at(-1)
      // What the next process finds: half of what was stored is acknowledged.
      if (writer !== 'g') await acknowledge({ ...(await spool.readBatch(5)).token })
    }
    expect(spool.stats.records).toBe(0)
    expect((await loggedIds(db)).length).toBe(ORDERS.length)
    const total = await Promise.all(['dep_0', 'dep_1'].map((id) => rollupOver(db, 'day', id)))
    const results = total.reduce((sum, rollup) => sum + (rollup?.resultCount ?? 0), 0)
    expect(results).toBe(12 * 3 + 48)
  })

  // Record ids are the clients' own; PostgreSQL's text takes neither of these.
  test('results are stored to the letter, whatever record ids and grades hold', async () => {
    const { db } = await open()
    const recordIds = ['\u0000', '\ud800', 'a"b\\c\n', '\u2028 \u{1f600}', -0.5, null]
    const one = loggedRecord({ isBatch: true, recordIds, scores: [[1, 2, 3, 4, 5, 6]] })
    const grades = JSON.stringify(['\u0000', '\udc00x', 'A"\\', null, '{}', 'null'])
    const fields = one.record.payload.toString().split(FIELD_SEPARATOR)
    const graded = fields.with(RECORD_FIELDS.indexOf('servedGrades'), grades)
    const record = readRecordV3(Buffer.from(graded.join(FIELD_SEPARATOR)))
    await new PostgresScoreLogStore(db, 'a').append([{ ...one, record }, loggedRecord()])
    const [row] = await rowsOf<{ results: string; grades: string }>(
      db,
      sql`select results::text as results, served_grades::text as grades from score_log
        where request_id = ${one.record.requestId}`,
    )
    expect(row?.results).toBe(fields[0])
    expect(row?.grades).toBe(grades)
  })

  test('scores, probabilities and times are stored to the bit', async () => {
    const { db } = await open()
    const scores = [0.1 + 0.2, 1e308, -5e-324, 699.9999999999999, 1 / 3]
    const orders = [0, 1, 999, 123].map((ms) => ({ scoredAtMs: AT - 250 + ms, scores: [scores] }))
    const logged = orders.map((order) =>
      loggedRecord({ ...order, isBatch: true, latencyMs: 1.001 }),
    )
    await new PostgresScoreLogStore(db, 'a').append(logged)
    const rows = await rowsOf<{ scores: string; pds: string; at: string; latency: number }>(
      db,
      sql`select array_to_json(served_scores)::text as scores, array_to_json(served_pds)::text as pds,
          to_json(scored_at at time zone 'UTC')::text as at, latency_ms as latency
        from score_log order by scored_at`,
    )
    expect(rows.map((row) => JSON.parse(row.scores))).toEqual(orders.map(() => scores))
    expect(rows.map((row) => JSON.parse(row.pds))).toEqual(logged.map(({ served }) => served.pds))
    expect(rows.map((row) => Date.parse(`${JSON.parse(row.at)}Z`))).toEqual(
      orders.map(({ scoredAtMs }) => scoredAtMs).toSorted((a, b) => a - b),
    )
    expect(new Set(rows.map((row) => row.latency))).toEqual(new Set([1.001]))
  })

  test('a record that the database rejects is quarantined and reported; the others are stored', async () => {
    const { db } = await open()
    const spool = new MemorySpool()
    const events: object[] = []
    // Larger than the column takes.
    const poisoned = scoreRecord({ cacheVersion: 1e12 })
    const others = ORDERS.map((order) => loggedRecord(order))
    spool.append(...others.slice(0, 31).map(({ record }) => record), poisoned)
    spool.append(...others.slice(31).map(({ record }) => record))
    const drain = new Drain({
      spool,
      store: new PostgresScoreLogStore(db, 'a'),
      thread: null,
      clock: systemClock,
      log: {
        failing: () => void events.push({ failing: true }),
        recovered: () => undefined,
        quarantine: (facts) => void events.push(facts),
      },
      gatherMs: 0,
      batchRecordsMax: 100,
      batchBytesMax: 1e6,
    })
    drain.start()
    await drain.close(30_000)
    expect(spool.stats.records).toBe(0)
    expect(spool.quarantinedIds).toEqual([poisoned.requestId])
    const reason = expect.stringMatching(/^the database refuses it \(22\w{3}\)$/)
    expect(events).toEqual([{ requestId: poisoned.requestId, reason }])
    await expectExactly(db, others)
  })

  test.skipIf(backend.name === 'PGlite')('writers never wait for one another', async () => {
    const { db } = await open()
    const logged = ORDERS.map(loggedRecord)
    await db.transaction(async (tx) => {
      // Holds all of its locks until the other is done.
      await new PostgresScoreLogStore(tx, 'a').append(logged.slice(0, 30))
      await db.execute(sql`select 1`)
      await new PostgresScoreLogStore(db, 'b').append(logged.slice(30))
    })
    await expectExactly(db, logged)
  })

  // A try that was given up as overdue may still commit, after the next try has begun.
  test.skipIf(backend.name === 'PGlite')(
    'a try waits for one before it of the same writer',
    async () => {
      const { db } = await open()
      const logged = ORDERS.map(loggedRecord)
      const store = new PostgresScoreLogStore(db, 'a')
      await store.append(logged.slice(0, 5))
      const { promise: isHeld, resolve: held } = Promise.withResolvers<void>()
      const { promise: mayEnd, resolve: release } = Promise.withResolvers<void>()
      const first = db.transaction(async (tx) => {
        await new PostgresScoreLogStore(tx, 'a').append(logged.slice(0, 40))
        held()
        await mayEnd
      })
      await isHeld
      // None of the same requests, which would wait by themselves, but of the same days.
      const second = store.append(logged.slice(40))
      const early = await Promise.race([second, new Promise((resolve) => setTimeout(resolve, 300))])
      expect(early).toBe(undefined)
      release()
      await first
      expect((await second).records).toBe(20)
      await expectExactly(db, logged)
    },
  )
})
