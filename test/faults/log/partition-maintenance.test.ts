import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { DamagedBlocks } from '../../../src/log/blocks/damaged-block.ts'
import { BlockTables } from '../../../src/log/blocks/upkeep/block-tables.ts'
import { ScoreLogStore } from '../../../src/log/drain/store.ts'
import { makeModels } from '../../../src/log/reading/stored-models.ts'
import { maintainPartitions } from '../../../src/log/retention/partition-maintenance.ts'
import { LogTables } from '../../../src/log/retention/partitions.ts'
import { ScoreKeyStore } from '../../../src/log/score-keys/store.ts'
import { type DatabaseHandle, queryRows } from '../../../src/platform/db/client.ts'
import {
  ClockError,
  DatabaseClock,
  type SharedClock,
} from '../../../src/platform/db/database-clock.ts'
import {
  DAY,
  insertModel,
  logged as loggedBlock,
  makeDay,
  store,
} from '../../support/archive/archived-log.ts'
import {
  idsByPartition,
  loggedIds,
  loggedRequests,
  partitions,
  rollupOver,
} from '../../support/score-log/log-rows.ts'
import { scoreRecord } from '../../support/score-log/records.ts'
import { backends } from '../../support/start/databases.ts'
import { databaseForTest } from '../../support/start/seeded-database.ts'

const DAY_MS = 86_400_000
type Place = { readonly segment: number; readonly offset: number }

const NOW = Date.parse('2026-03-04T10:59:30.250Z')

describe.each(backends)('on $name', (backend) => {
  const open = () => databaseForTest(backend)

  /** One round at a moment. */
  async function runUpkeep(
    { db, hasAutovacuum }: DatabaseHandle,
    nowMs: number,
    days = 761,
    fromMs?: number,
    sharedClock: SharedClock = { nowMs: async () => nowMs },
  ) {
    const events: unknown[] = []
    const upkeep = maintainPartitions({
      tables: new LogTables(db),
      keys: new ScoreKeyStore(db),
      clock: { epochMs: () => nowMs },
      sharedClock,
      retentionDays: days,
      ...(fromMs !== undefined && { fromMs }),
      hasAutovacuum,
      log: {
        dropped: (names) => void events.push(...names),
        stray: (rows) => void events.push(rows),
        failed: (error) => void events.push(error),
      },
    })
    await upkeep.runOnce()
    await upkeep.close()
    return events
  }

  /** As if all had been drained a day and an hour earlier. */
  const ageDrained = (db: DatabaseHandle['db']) =>
    db.execute(sql`update score_blocks set drained_at = drained_at - interval '25 hours'`)

  const logged = (id: string, scoredAtMs: number) => scoreRecord({ requestId: id, scoredAtMs })

  test('keys of scores leave two days after they were written', async () => {
    const handle = await open()
    const key = new Uint8Array(24)
    await new ScoreLogStore(handle.db).append([scoreRecord({ scoredAtMs: Date.now(), key })])
    const count = async () => {
      const rows = await queryRows(handle.db, sql`select 1 from score_keys`)
      return rows.length
    }
    const noon = Date.now() - (Date.now() % DAY_MS) + DAY_MS / 2
    await runUpkeep(handle, noon + DAY_MS)
    expect(await count()).toBe(1)
    await runUpkeep(handle, noon + 2 * DAY_MS)
    expect(await count()).toBe(0)
  })

  test('partitions are there for today and a week ahead, and requests go into those of their day', async () => {
    const handle = await open()
    expect(await runUpkeep(handle, NOW)).toEqual([])
    const names = [4, 5, 6, 7, 8, 9, 10, 11].map(
      (day) => `score_blocks_p202603${`${day}`.padStart(2, '0')}`,
    )
    expect(await partitions(handle.db)).toEqual(names)
    const startMs = Date.parse('2026-03-04T00:00:00.000Z')
    await new ScoreLogStore(handle.db).append([
      logged('first', startMs),
      logged('last', startMs + DAY_MS - 1),
      logged('next', startMs + DAY_MS),
    ])
    expect(await idsByPartition(handle.db)).toEqual({
      score_blocks_p20260304: ['first', 'last'],
      score_blocks_p20260305: ['next'],
    })
    // A day later there is one more.
    expect(await runUpkeep(handle, NOW + DAY_MS)).toEqual([])
    expect(await partitions(handle.db)).toEqual([...names, 'score_blocks_p20260312'])
  })

  // Records of an older time would go to the default partition, and warn every hour.
  test('partitions are there from the day of the oldest records that will be written', async () => {
    const handle = await open()
    const fromMs = NOW - 3 * DAY_MS
    expect(await runUpkeep(handle, NOW, 761, fromMs)).toEqual([])
    const names = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map(
      (day) => `score_blocks_p202603${`${day}`.padStart(2, '0')}`,
    )
    expect(await partitions(handle.db)).toEqual(names)
    const store = new ScoreLogStore(handle.db)
    await store.append([logged('oldest', fromMs)])
    expect(await runUpkeep(handle, NOW, 761, NOW + DAY_MS)).toEqual([])
    expect(await idsByPartition(handle.db)).toEqual({ score_blocks_p20260301: ['oldest'] })
  })

  // A row of each start of a process would stay for ever; without it a spool is stored again.
  test('the position of a spool is kept for as long as a process has it, and 90 days after', async () => {
    const handle = await open()
    const store = new ScoreLogStore(handle.db)
    const cursor = (segment: number) => ({ segment, offset: 0 })
    for (const spoolId of ['gone', 'away', 'idle']) {
      await store.append([], { spoolId, from: cursor(0), to: cursor(1) })
    }
    const age = (spoolId: string, days: number) =>
      handle.db.execute(sql`update spool_cursors
        set updated_at = ${new Date(Date.now() - days * DAY_MS).toISOString()}
        where spool_id = ${spoolId}`)
    await age('gone', 92)
    await age('away', 89)
    await age('idle', 92)
    // A process compares its positions with the database.
    expect(await store.cursors(['idle'])).toEqual(new Map([['idle', cursor(1)]]))
    expect(await runUpkeep(handle, Date.now())).toEqual([])
    expect(await store.cursors(['gone', 'away', 'idle'])).toEqual(
      new Map([
        ['gone', cursor(0)],
        ['away', cursor(1)],
        ['idle', cursor(1)],
      ]),
    )
  })

  // Upkeep may fail for a week, or a clock be wrong: what was answered is logged all the same.
  test('rows without a partition are kept, reported, and moved into theirs once it exists', async () => {
    const handle = await open()
    const store = new ScoreLogStore(handle.db)
    const all = [logged('a', NOW), logged('b', NOW + DAY_MS), logged('old', NOW - 3 * DAY_MS)]
    await store.append(all)
    expect(await idsByPartition(handle.db)).toEqual({ score_blocks_default: ['a', 'b', 'old'] })
    expect(await runUpkeep(handle, NOW)).toEqual([1])
    expect(await idsByPartition(handle.db)).toEqual({
      score_blocks_default: ['old'],
      score_blocks_p20260304: ['a'],
      score_blocks_p20260305: ['b'],
    })
    expect((await rollupOver(handle.db, 'day', 'dep_1'))?.resultCount).toBe(3)
  })

  test('what is older than the retention goes, with its rollups, and nothing else', async () => {
    const handle = await open()
    const { db } = handle
    for (const ageDays of [12, 5]) await runUpkeep(handle, NOW - ageDays * DAY_MS)
    const ages = [40, 12, 11, 10, 9, 0]
    const all = ages.map((days) => logged(`${days} days`, NOW - days * DAY_MS))
    await new ScoreLogStore(db).append(all)
    await ageDrained(db)
    expect(await runUpkeep(handle, NOW, 10)).toEqual([
      'score_blocks_p20260220',
      'score_blocks_p20260221',
    ])
    expect(await loggedIds(db)).toEqual(['10 days', '9 days', '0 days'])
    for (const span of ['minute', 'hour', 'day'] as const) {
      expect((await rollupOver(db, span, 'dep_1'))?.resultCount).toBe(3)
    }
    expect(await runUpkeep(handle, NOW, 10)).toEqual([])
  })

  // The clock of a replica was years behind: its answers would be gone within the hour.
  test('what was drained less than a day ago stays, with its statistics, whatever its day', async () => {
    const handle = await open()
    const { db } = handle
    await insertModel(handle)
    const now = DAY + 100 * DAY_MS
    for (const age of [12, 11]) await makeDay(handle, now - age * DAY_MS)
    const answered = (age: number) => [loggedBlock(now - age * DAY_MS - DAY)]
    for (const age of [900, 12, 11]) await store(handle, answered(age))
    await ageDrained(db)
    for (const age of [901, 10.5]) await store(handle, answered(age))
    const tables = new BlockTables(db, makeModels(db), new DamagedBlocks())
    while ((await tables.rollUp()) > 0);
    await store(handle, answered(901))
    const left = async () => {
      const results = (await rollupOver(db, 'day', 'dep_1'))?.resultCount ?? 0
      const [row] = await queryRows<{ waiting: number }>(
        db,
        sql`select count(*)::integer as waiting from score_sums`,
      )
      return { requests: (await loggedRequests(db)).length, results, waiting: row?.waiting }
    }
    const formatName = (age: number) =>
      `score_blocks_p${new Date(now - age * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`
    expect(await left()).toEqual({ requests: 6, results: 6, waiting: 1 })
    // Two rows are in the default partition.
    expect(await runUpkeep(handle, now, 10)).toEqual([formatName(12), 2])
    expect(await left()).toEqual({ requests: 4, results: 4, waiting: 1 })
    await ageDrained(db)
    expect(await runUpkeep(handle, now, 10)).toEqual([formatName(11)])
    expect(await left()).toEqual({ requests: 0, results: 0, waiting: 0 })
  })

  // It would delete the log, and positions of spools, whose records would then be stored twice.
  test('a process whose clock is wrong drops and forgets nothing', async () => {
    const handle = await open()
    const { db } = handle
    const nowMs = Date.now() + 800 * DAY_MS
    const store = new ScoreLogStore(db)
    await new LogTables(db).makePartitions([Date.now()].map((ms) => ms - (ms % DAY_MS)))
    const [from, to] = [0, 1].map((segment) => ({ segment, offset: 0 })) as [Place, Place]
    await store.append([logged('a', Date.now())], { spoolId: 's', from, to })
    const clock = new DatabaseClock(db, { epochMs: () => nowMs })
    expect(await runUpkeep(handle, nowMs, 10, undefined, clock)).toEqual([expect.any(ClockError)])
    expect(await loggedIds(db)).toEqual(['a'])
    expect(await store.cursors(['s'])).toEqual(new Map([['s', to]]))
  })

  // Without autovacuum a table with rows that are written again grows for as long as it is used.
  test.skipIf(backend.name === 'PostgreSQL')('a round vacuums every table', async () => {
    const handle = await open()
    expect(await runUpkeep(handle, NOW)).toEqual([])
    const left = await queryRows<{ name: string }>(
      handle.db,
      sql`select relname::text as name from pg_stat_user_tables
        where schemaname = current_schema() and vacuum_count = 0
          and relid not in (select partrelid from pg_partitioned_table)`,
    )
    expect(left).toEqual([])
  })

  test('a failed round is reported, and does not stop the service', async () => {
    const handle = await open()
    await handle.db.execute(sql`drop table score_blocks`)
    expect(await runUpkeep(handle, NOW)).toEqual([expect.any(Error)])
  })

  // Replicas start together, and their hours end together.
  test.skipIf(backend.name === 'PGlite')(
    'rounds that meet, under load, make each partition once',
    async () => {
      const handle = await open()
      const store = new ScoreLogStore(handle.db)
      const all = Array.from({ length: 300 }, (_, n) => logged(`req_${n}`, NOW + (n % 9) * DAY_MS))
      const load = (async () => {
        for (let at = 0; at < all.length; at += 10) {
          const batch = all.slice(at, at + 10)
          // One on its way into the default partition can be refused by it, and comes again.
          while ((await store.append(batch).catch(() => null)) === null);
        }
      })()
      const events = await Promise.all([0, 0, 0, 0, 0].map(() => runUpkeep(handle, NOW)))
      await load
      expect(events.flat().filter((one) => typeof one !== 'number')).toEqual([])
      await runUpkeep(handle, NOW + DAY_MS)
      expect((await partitions(handle.db)).length).toBe(9)
      expect((await idsByPartition(handle.db))['score_blocks_default']).toBe(undefined)
      expect((await loggedIds(handle.db)).length).toBe(300)
      expect((await rollupOver(handle.db, 'day', 'dep_1'))?.resultCount).toBe(300)
    },
  )
})
