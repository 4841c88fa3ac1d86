import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { deploymentHash } from '../../../src/log/blocks/hashes.ts'
import { Drain } from '../../../src/log/drain/drain.ts'
import { ScoreLogStore } from '../../../src/log/drain/store.ts'
import type { RecordV4 } from '../../../src/log/record/record-v4.ts'
import { makeRollup, mergedRollup } from '../../../src/log/rollups/rollup.ts'
import { SPANS } from '../../../src/log/rollups/spans.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import type { Database } from '../../../src/platform/db/client.ts'
import { loggedIds, rollupOver } from '../../support/score-log/log-rows.ts'
import { MemorySpool } from '../../support/score-log/memory-spool.ts'
import {
  makeDeployment,
  type RecordOrder,
  scoreRecord,
  servedResults,
} from '../../support/score-log/records.ts'
import { backends } from '../../support/start/databases.ts'
import { databaseForTest } from '../../support/start/seeded-database.ts'

const AT = Date.parse('2026-03-04T10:59:30.250Z')
const HOUR_MS = 3_600_000

/** Requests over three days, single and batch, on two deployments. */
const ORDERS: readonly RecordOrder[] = Array.from({ length: 60 }, (_, n) => ({
  scoredAtMs: AT + n * HOUR_MS + n,
  deploymentId: `dep_${n % 2}`,
  latencyUs: 500 + 143 * n,
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
  const open = () => databaseForTest(backend)

  /** Log and rollups must hold these, each once. */
  async function expectExactly(db: Database, records: readonly RecordV4[]) {
    const ids = records.map(({ requestId }) => requestId)
    expect((await loggedIds(db)).toSorted()).toEqual(ids.toSorted())
    for (const deploymentId of new Set(records.map(makeDeployment))) {
      const own = records.filter((record) => makeDeployment(record) === deploymentId)
      const expected = mergedRollup(own.map((record) => makeRollup(servedResults(record))))
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

  test('a crash between the commit and its acknowledgement loses and doubles nothing', async () => {
    const { db } = await open()
    const spool = new MemorySpool()
    const acknowledge = spool.acknowledge.bind(spool)
    const records = ORDERS.map((order) => scoreRecord(order))
    const waiting = [...records]
    const processes = 7
    for (let started = 1; started <= processes; started++) {
      spool.acknowledge = async () => {
        throw new Error('the process ends here')
      }
      spool.append(...waiting.splice(0, 10))
      const drain = new Drain({
        spool,
        store: new ScoreLogStore(db),
        thread: null,
        clock: systemClock,
        log: {
          failing: () => undefined,
          recovered: () => undefined,
          held: () => undefined,
          quarantine: () => undefined,
        },
        gatherMs: 0,
        batchRecordsMax: 20,
        batchBytesMax: 1e6,
      })
      await drain.start()
      if (started === processes) spool.acknowledge = acknowledge
      await drain.close(10_000)
      // What the next process finds: half of what was stored is acknowledged.
      if (started < processes) await acknowledge({ ...(await spool.readBatch(5)).token })
    }
    expect(spool.stats.records).toBe(0)
    await expectExactly(db, records)
  })

  test('a record that the database rejects is quarantined and reported; the others are stored', async () => {
    const { db } = await open()
    const spool = new MemorySpool()
    const events: object[] = []
    const poisoned = scoreRecord({ deploymentId: 'dep_poison' })
    await db.execute(sql`create function refuse() returns trigger language plpgsql as $$
      begin
        raise exception 'out of range' using errcode = '22003';
      end $$`)
    await db.execute(sql`create trigger refuse before insert on score_blocks for each row
      when (new.deployments @> array[${sql.raw(String(deploymentHash('dep_poison')))}])
      execute function refuse()`)
    const others = ORDERS.map((order) => scoreRecord(order))
    spool.append(...others.slice(0, 31), poisoned, ...others.slice(31))
    const drain = new Drain({
      spool,
      store: new ScoreLogStore(db),
      thread: null,
      clock: systemClock,
      log: {
        failing: () => void events.push({ failing: true }),
        recovered: () => undefined,
        held: () => undefined,
        quarantine: (facts) => void events.push(facts),
      },
      gatherMs: 0,
      batchRecordsMax: 100,
      batchBytesMax: 1e6,
    })
    await drain.start()
    await drain.close(30_000)
    expect(spool.stats.records).toBe(0)
    expect(spool.quarantinedIds).toEqual([poisoned.requestId])
    const reason = 'the database refuses it (22003)'
    expect(events).toEqual([{ requestId: poisoned.requestId, reason }])
    await expectExactly(db, others)
  })
})
