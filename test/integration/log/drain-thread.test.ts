import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Drain } from '../../../src/log/drain/drain.ts'
import type { DrainedRange, RangeDrainer } from '../../../src/log/drain/drain-options.ts'
import { DrainThread } from '../../../src/log/drain/drain-thread.ts'
import { ScoreLogStore } from '../../../src/log/drain/store.ts'
import { ScoreKeyStore } from '../../../src/log/score-keys/store.ts'
import type { Spool } from '../../../src/log/spool/spool.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import { type DatabaseHandle, queryRows } from '../../../src/platform/db/client.ts'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { loggedIds, rollupOver } from '../../support/score-log/log-rows.ts'
import { loggedModel, logRequest } from '../../support/score-log/score-records.ts'
import { log, newSpoolDir, openSpool } from '../../support/score-log/spools.ts'
import { backends } from '../../support/start/databases.ts'
import { openTestDatabase } from '../../support/start/seeded-database.ts'

const DEPLOYMENT = 'dep_1'
const WAIT_MS = 60_000
const MODELS = [loggedModel(card([plainFeature('income')]), 'champion')]
const ids = (count: number, prefix = 'req_') =>
  Array.from({ length: count }, (_, n) => `${prefix}${String(n).padStart(5, '0')}`)

/** Notes how each stretch ended. */
class Watched implements RangeDrainer {
  readonly ends: (DrainedRange | null)[] = []
  readonly thread: DrainThread

  constructor(thread: DrainThread) {
    this.thread = thread
  }

  async drainRange(...args: Parameters<RangeDrainer['drainRange']>): Promise<DrainedRange | null> {
    const end = await this.thread.drainRange(...args)
    this.ends.push(end)
    return end
  }

  close(): Promise<void> {
    return this.thread.close()
  }
}

const server = backends.find(({ name }) => name === 'PostgreSQL')

describe.skipIf(server === undefined)('on PostgreSQL', () => {
  let handle: DatabaseHandle
  let spool: Spool
  let drainThread: Watched
  let drain: Drain
  let crashes: unknown[]
  let quarantined: object[]
  let undo: () => Promise<void>

  beforeEach(async () => {
    if (server === undefined) throw new Error('no PostgreSQL server was named')
    const database = await server.create()
    handle = await openTestDatabase(database)
    const directory = newSpoolDir()
    spool = await openSpool(directory.path, { bytesMax: 32 * 1024 * 1024 })
    crashes = []
    quarantined = []
    drainThread = new Watched(
      new DrainThread({
        isAwaited: false,
        databaseUrl: handle.url ?? '',
        onCrash: (error) => crashes.push(error),
        onSilent: () => undefined,
      }),
    )
    drain = new Drain({
      spool,
      store: new ScoreLogStore(handle.db),
      thread: drainThread,
      clock: systemClock,
      log: {
        failing: () => undefined,
        recovered: () => undefined,
        held: () => undefined,
        quarantine: (facts) => void quarantined.push(facts),
      },
      gatherMs: 0,
      batchRecordsMax: 1_000,
      batchBytesMax: 4e6,
    })
    undo = async () => {
      await drain.close(2_000)
      await drainThread.close()
      await spool.close()
      directory.remove()
      await handle.close()
      await database.drop()
    }
  })

  afterEach(() => undo())

  /** All of them in the log and in the rollups, each once, and none left in the spool. */
  async function expectExactly(wanted: readonly string[]): Promise<void> {
    await vi.waitFor(() => expect(spool.stats.records).toBe(0), WAIT_MS)
    expect((await loggedIds(handle.db)).toSorted()).toEqual(wanted.toSorted())
    for (const span of ['minute', 'hour', 'day'] as const) {
      const rollup = await rollupOver(handle.db, span, DEPLOYMENT)
      expect(rollup).toMatchObject({ requestCount: wanted.length, resultCount: wanted.length })
    }
  }

  /** As a database that cancels transactions which take it too long. */
  async function refuseAbove(records: number): Promise<void> {
    await handle.db.execute(sql`create function refuse_many() returns trigger language plpgsql as $$
      begin
        if (select sum(records) from score_blocks where xmin = pg_current_xact_id()::xid)
            > ${sql.raw(String(records))} then
          raise exception 'took too long' using errcode = '57014';
        end if;
        return null;
      end $$`)
    await handle.db.execute(sql`create trigger refuse_many after insert on score_blocks
      for each statement execute function refuse_many()`)
  }

  test('records reach the log and its rollups from the thread, beyond one transaction', async () => {
    const wanted = ids(9_000)
    await Promise.all(wanted.map((id) => log(spool, id)))
    await drain.start()
    await expectExactly(wanted)
    // The database has a batch before the thread's reply is here.
    await vi.waitFor(() => {
      expect(drainThread.ends.map((end) => end?.records)).toEqual([8_000, 1_000])
      expect(drain.stats).toMatchObject({
        drainedRecords: 9_000,
        drainedResults: 9_000,
        lagMs: null,
      })
    }, WAIT_MS)
    await log(spool, 'req_late')
    await expectExactly([...wanted, 'req_late'])
  })

  test('what a process stored whose commit was not heard of is passed over', async () => {
    const wanted = ids(20)
    await Promise.all(wanted.map((id) => log(spool, id)))
    const { records, token } = await spool.readBatch(5, 1e6)
    const { spoolId, from, segment, offset } = token
    const position = { spoolId, from, to: { segment, offset } }
    await new ScoreLogStore(handle.db).append(records, position)
    await drain.start()
    await expectExactly(wanted)
    await vi.waitFor(() => {
      expect(drainThread.ends.map((end) => end?.records)).toEqual([15])
      expect(drain.stats).toMatchObject({ drainedRecords: 15, replayedRecords: 5 })
    }, WAIT_MS)
  })

  test('the thread stores the key of a single score with its record', async () => {
    const key = { keyHash: new Uint8Array(16).fill(1), bodyHash: new Uint8Array(8).fill(2) }
    const facts = { requestId: 'req_keyed', scoredAtMs: Date.now(), key }
    await logRequest(spool, MODELS, [{ income: 1 }], facts)
    await log(spool, 'req_other')
    await drain.start()
    await expectExactly(['req_keyed', 'req_other'])
    expect(drainThread.ends.map((end) => end?.records)).toEqual([2])
    const bodyHash = Buffer.from(key.bodyHash)
    expect(await new ScoreKeyStore(handle.db).find(key.keyHash)).toEqual({
      bodyHash,
      requestId: 'req_keyed',
    })
  })

  // A standby that is promoted can lack the last commits, and nothing tells of it but the cursor.
  test.each([0, 1])('what a failover lost is drained again, %i batches were kept', async (kept) => {
    await drain.start()
    const batches = [ids(20, 'req_a_'), ids(30, 'req_b_'), ids(10, 'req_c_')]
    const cursors: { segment: number; at: number }[] = [{ segment: 0, at: 0 }]
    for (const batch of batches) {
      await Promise.all(batch.map((id) => log(spool, id)))
      await vi.waitFor(() => expect(spool.stats.records).toBe(0), WAIT_MS)
      const [row] = await queryRows<{ segment: number; at: number }>(
        handle.db,
        sql`select segment, "offset"::float8 as at from spool_cursors`,
      )
      if (row !== undefined) cursors.push(row)
    }
    await handle.db.execute(sql`delete from score_blocks where (first_at, block_id) not in (
      select first_at, block_id from score_blocks where records = 20 limit ${kept})`)
    await handle.db.execute(sql`delete from score_sums where (first_at, block_id) not in (
      select first_at, block_id from score_blocks)`)
    const { segment = 0, at = 0 } = cursors[kept] ?? {}
    await handle.db.execute(
      kept === 0
        ? sql`delete from spool_cursors`
        : sql`update spool_cursors set segment = ${segment}, "offset" = ${at}`,
    )
    const late = ids(5, 'req_late_')
    await Promise.all(late.map((id) => log(spool, id)))
    await expectExactly([...batches.flat(), ...late])
    expect(drainThread.ends).toContain(null)
    expect(quarantined).toEqual([])
  })

  // A slow database would else cancel each try after 8 s, and the drain never catch up.
  test('what the database does not take in time is tried in smaller parts', async () => {
    await refuseAbove(2_500)
    const wanted = ids(9_000)
    await Promise.all(wanted.map((id) => log(spool, id)))
    await drain.start()
    await expectExactly(wanted)
    // The main thread stored 1,000 of the rest after each failed attempt.
    const stored = drainThread.ends.map((end) => end?.records ?? null)
    expect(stored).toEqual([null, null, 2_000, null, 1_000, 2_000, 1_000])
    expect(quarantined).toEqual([])
  })

  test('a record that is larger than what is tried makes the thread try more', async () => {
    await refuseAbove(500)
    const wanted = ids(3_000)
    await Promise.all(wanted.map((id) => log(spool, id)))
    await drain.start()
    await expectExactly(wanted)
    expect(drainThread.ends[0]).toBe(null)
    for (const requestId of ids(3, 'req_large_')) {
      const applicant = { income: 1, id: 'x'.repeat(1_200_000) }
      await logRequest(spool, MODELS, [applicant], { requestId, isBatch: true })
      wanted.push(requestId)
      await expectExactly(wanted)
    }
    expect(drainThread.ends.slice(-2).map((end) => end?.records ?? null)).toEqual([1, 1])
  })

  test.skipIf(process.platform !== 'linux')('a file that is drained takes no place', async () => {
    const wanted = ids(8_000)
    await Promise.all(wanted.map((id) => log(spool, id)))
    const { path = '' } = spool.oldest() ?? {}
    // Read once by this thread too.
    await spool.readBatch(1, 1e6)
    await drain.start()
    await expectExactly(wanted)
    await vi.waitFor(() => expect(existsSync(path)).toBe(false), WAIT_MS)
    const open = readdirSync('/proc/self/fd').map((descriptor) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`)
      } catch {
        return ''
      }
    })
    expect(open.filter((file) => file.startsWith(path))).toEqual([])
  })

  test('a record that is damaged on the disk is set aside, and the others are stored', async () => {
    const wanted = ids(50)
    await Promise.all(wanted.map((id) => log(spool, id)))
    const range = spool.oldest()
    const bytes = readFileSync(range?.path ?? '')
    bytes[bytes.indexOf('req_00020')] = 0x58
    writeFileSync(range?.path ?? '', bytes)
    await drain.start()
    await expectExactly(wanted.filter((id) => id !== 'req_00020'))
    expect(drain.stats).toMatchObject({ drainedRecords: 49, quarantinedRecords: 1 })
    expect(drainThread.ends).toEqual([null])
  })

  test('a thread that dies loses and doubles nothing, and another takes its place', async () => {
    await drain.start()
    const wanted: string[] = []
    for (let round = 0; round < 12; round++) {
      const more = ids(400, `req_${round}_`)
      wanted.push(...more)
      const logged = Promise.all(more.map((id) => log(spool, id)))
      // Between two messages, amid a transaction, or while it starts.
      await new Promise((resolve) => setTimeout(resolve, 3 * round))
      const thread = Reflect.get(drainThread.thread, 'thread')
      await Reflect.get(thread, 'worker')?.terminate()
      Reflect.set(thread, 'endedAtMs', Number.NEGATIVE_INFINITY)
      await logged
    }
    await expectExactly(wanted)
    expect(drainThread.ends).toContain(null)
    await log(spool, 'req_after')
    await expectExactly([...wanted, 'req_after'])
    expect(drainThread.ends.at(-1)).not.toBe(null)
    expect(crashes).toEqual([])
  })

  test('with the database away the thread is not asked until the drain has stored something', async () => {
    await handle.db.execute(sql`alter table score_blocks rename to blocks_away`)
    const wanted = ids(10)
    await Promise.all(wanted.map((id) => log(spool, id)))
    await drain.start()
    await vi.waitFor(() => expect(drain.stats.failedBatches).toBeGreaterThan(2), WAIT_MS)
    expect(drainThread.ends).toEqual([null])
    expect(drain.stats.lagMs).toBeGreaterThan(0)
    await handle.db.execute(sql`alter table blocks_away rename to score_blocks`)
    await expectExactly(wanted)
    await log(spool, 'req_after')
    await expectExactly([...wanted, 'req_after'])
    expect(drainThread.ends.map((end) => end?.records ?? null)).toEqual([null, 1])
    expect(quarantined).toEqual([])
  })
})
