import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { DatabaseHandle } from '../../../src/db/client.ts'
import type { Carried, Carrier } from '../../../src/scorelog/carrier.ts'
import { CarrierThread } from '../../../src/scorelog/carrier-thread.ts'
import { Drain } from '../../../src/scorelog/drain.ts'
import { servedOf } from '../../../src/scorelog/served.ts'
import type { Spool } from '../../../src/scorelog/spool.ts'
import { PostgresScoreLogStore } from '../../../src/scorelog/store.ts'
import { card, plainFeature } from '../../support/cards.ts'
import { backends } from '../../support/databases.ts'
import { loggedIds, rollupOver } from '../../support/log-rows.ts'
import { openPrepared } from '../../support/prepared.ts'
import { loggedModel, logRequest } from '../../support/score-records.ts'
import { log, newSpoolDir, openSpool } from '../../support/spools.ts'

const DEPLOYMENT = 'dep_1'
const MODELS = [loggedModel(card([plainFeature('income')]), 'champion')]
const ids = (count: number, prefix = 'req_') =>
  Array.from({ length: count }, (_, n) => `${prefix}${String(n).padStart(5, '0')}`)

/** Notes how each stretch ended. */
class Watched implements Carrier {
  readonly ends: (Carried | null)[] = []
  readonly thread: CarrierThread

  constructor(thread: CarrierThread) {
    this.thread = thread
  }

  async carry(...args: Parameters<Carrier['carry']>): Promise<Carried | null> {
    const carried = await this.thread.carry(...args)
    this.ends.push(carried)
    return carried
  }

  close(): Promise<void> {
    return this.thread.close()
  }
}

const servers = backends.filter(({ name }) => name === 'PostgreSQL')

describe.each(servers)('on $name', (backend) => {
  let handle: DatabaseHandle
  let spool: Spool
  let carrier: Watched
  let drain: Drain
  let crashes: unknown[]
  let setAside: object[]
  let undo: () => Promise<void>

  beforeEach(async () => {
    const database = await backend.create()
    handle = await openPrepared(database)
    const directory = newSpoolDir()
    spool = await openSpool(directory.path, { bytesMax: 32 * 1024 * 1024 })
    crashes = []
    setAside = []
    carrier = new Watched(
      new CarrierThread({
        databaseUrl: handle.url ?? '',
        writer: 'thread',
        onCrash: (error) => crashes.push(error),
        onSilent: () => undefined,
      }),
    )
    drain = new Drain({
      spool,
      store: new PostgresScoreLogStore(handle.db, 'main'),
      carrier,
      clock: systemClock,
      log: {
        failing: () => undefined,
        recovered: () => undefined,
        setAside: (facts) => void setAside.push(facts),
      },
      ...{ gatherMs: 0, batchRecordsMax: 1_000, batchBytesMax: 4e6 },
    })
    undo = async () => {
      await drain.close(2_000)
      await carrier.close()
      await spool.close()
      directory.remove()
      await handle.close()
      await database.drop()
    }
  })

  afterEach(() => undo())

  /** All of them in the log and in the rollups, each once, and none left in the spool. */
  async function expectExactly(wanted: readonly string[]): Promise<void> {
    await vi.waitFor(() => expect(spool.stats.records).toBe(0), 20_000)
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
        if (select count(*) from score_log where xmin = pg_current_xact_id()::xid)
            > ${sql.raw(String(records))} then
          raise exception 'took too long' using errcode = '57014';
        end if;
        return null;
      end $$`)
    await handle.db.execute(sql`create trigger refuse_many after insert on score_log
      for each statement execute function refuse_many()`)
  }

  test('records reach the log and its rollups from the thread, beyond one transaction', async () => {
    const wanted = ids(9_000)
    await Promise.all(wanted.map((id) => log(spool, id)))
    drain.start()
    await expectExactly(wanted)
    expect(carrier.ends.map((end) => end?.records)).toEqual([8_000, 1_000])
    expect(drain.stats).toMatchObject({ drainedRecords: 9_000, drainedResults: 9_000, lagMs: null })
    await log(spool, 'req_late')
    await expectExactly([...wanted, 'req_late'])
  })

  test('what the thread can not store is drained without it, and the rest with it', async () => {
    // A commit that was not heard of: some are in the log.
    const first = ids(20, 'req_first_')
    await Promise.all(first.map((id) => log(spool, id)))
    const { records } = await spool.readBatch(5, 1e6)
    const store = new PostgresScoreLogStore(handle.db, 'writer')
    await store.append(records.map((record) => ({ record, served: servedOf(record) })))
    drain.start()
    await expectExactly(first)
    expect(carrier.ends).toEqual([null])
    expect(drain.stats).toMatchObject({
      drainedRecords: 15,
      replayedRecords: 5,
      handedBackBatches: 1,
    })
    const second = ids(20, 'req_second_')
    await Promise.all(second.map((id) => log(spool, id)))
    await expectExactly([...first, ...second])
    expect(carrier.ends.at(-1)?.records).toBe(20)
  })

  // A slow database would else cancel each try after 8 s, and the drain never catch up.
  test('what the database does not take in time is tried in smaller parts', async () => {
    await refuseAbove(2_500)
    const wanted = ids(9_000)
    await Promise.all(wanted.map((id) => log(spool, id)))
    drain.start()
    await expectExactly(wanted)
    // Of the rest the main thread stored 1,000 after each try that failed.
    const stored = carrier.ends.map((end) => end?.records ?? null)
    expect(stored).toEqual([null, null, 2_000, null, 1_000, 2_000, 1_000])
    expect(setAside).toEqual([])
  })

  test('a record that is larger than what is tried makes the thread try more', async () => {
    await refuseAbove(500)
    const wanted = ids(3_000)
    await Promise.all(wanted.map((id) => log(spool, id)))
    drain.start()
    await expectExactly(wanted)
    expect(carrier.ends).toEqual([null, null, null])
    for (const requestId of ids(3, 'req_large_')) {
      const applicant = { income: 1, id: 'x'.repeat(1_200_000) }
      await logRequest(spool, MODELS, [applicant], { requestId, isBatch: true })
      wanted.push(requestId)
      await expectExactly(wanted)
    }
    expect(carrier.ends.slice(3).map((end) => end?.records ?? null)).toEqual([null, 1, 1])
  })

  test.skipIf(process.platform !== 'linux')('a file that is drained takes no place', async () => {
    const wanted = ids(6_000)
    await Promise.all(wanted.map((id) => log(spool, id)))
    const { path = '' } = spool.oldest() ?? {}
    // Read once by this thread too.
    await spool.readBatch(1, 1e6)
    drain.start()
    await expectExactly(wanted)
    await vi.waitFor(() => expect(existsSync(path)).toBe(false), 5_000)
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
    const stretch = spool.oldest()
    const bytes = readFileSync(stretch?.path ?? '')
    bytes[bytes.indexOf('req_00020')] = 0x58
    writeFileSync(stretch?.path ?? '', bytes)
    drain.start()
    await expectExactly(wanted.filter((id) => id !== 'req_00020'))
    expect(drain.stats).toMatchObject({ drainedRecords: 49, setAsideRecords: 1 })
    expect(carrier.ends).toEqual([null])
  })

  test('a thread that dies loses and doubles nothing, and another takes its place', async () => {
    drain.start()
    const wanted: string[] = []
    for (let round = 0; round < 12; round++) {
      const more = ids(400, `req_${round}_`)
      wanted.push(...more)
      const logged = Promise.all(more.map((id) => log(spool, id)))
      // Between two messages, amid a transaction, or while it starts.
      await new Promise((resolve) => setTimeout(resolve, 3 * round))
      await Reflect.get(carrier.thread, 'worker')?.terminate()
      Reflect.set(carrier.thread, 'endedAtMs', Number.NEGATIVE_INFINITY)
      await logged
    }
    await expectExactly(wanted)
    expect(carrier.ends).toContain(null)
    await log(spool, 'req_after')
    await expectExactly([...wanted, 'req_after'])
    expect(carrier.ends.at(-1)).not.toBe(null)
    expect(crashes).toEqual([])
  })

  test('with the database away the thread is not asked until the drain has stored something', async () => {
    await handle.db.execute(sql`alter table score_log rename to score_log_away`)
    const wanted = ids(10)
    await Promise.all(wanted.map((id) => log(spool, id)))
    drain.start()
    await vi.waitFor(() => expect(drain.stats.failedBatches).toBeGreaterThan(2), 5_000)
    expect(carrier.ends).toEqual([null])
    expect(drain.stats.lagMs).toBeGreaterThan(0)
    await handle.db.execute(sql`alter table score_log_away rename to score_log`)
    await expectExactly(wanted)
    await log(spool, 'req_after')
    await expectExactly([...wanted, 'req_after'])
    expect(carrier.ends.map((end) => end?.records ?? null)).toEqual([null, 1])
    expect(setAside).toEqual([])
  })
})
