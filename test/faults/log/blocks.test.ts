import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { openBlock } from '../../../src/log/blocks/block-decoder.ts'
import { BlockReader } from '../../../src/log/blocks/block-store.ts'
import { timeOfRequestId } from '../../../src/log/blocks/request-id-column.ts'
import { BlockTables } from '../../../src/log/blocks/upkeep/block-tables.ts'
import { ScoreLogStore } from '../../../src/log/drain/store.ts'
import type { ModelSource } from '../../../src/log/record/model-source.ts'
import { readRecordV4 } from '../../../src/log/record/record-v4.ts'
import { LogTables } from '../../../src/log/retention/partitions.ts'
import { type Database, queryRows } from '../../../src/platform/db/client.ts'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { growSums } from '../../support/score-log/grown-sums.ts'
import { loggedIds, rollupOver } from '../../support/score-log/log-rows.ts'
import {
  type PayloadOrder,
  recordPayload,
  testModel,
} from '../../support/score-log/record-payloads.ts'
import { backends } from '../../support/start/databases.ts'
import { databaseForTest } from '../../support/start/seeded-database.ts'

const HOUR_MS = 3_600_000
/** Within the last two days, at the end of an hour. */
const START = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 3 * HOUR_MS + HOUR_MS - 5_000
const CARD = testModel(sampleSpec(), 'mod_1')
const APPLICANTS = sampleApplicants().map(({ applicant }) => applicant)
const SOURCE: ModelSource = { compiled: async () => new Map([['mod_1', CARD.model]]) }

function logged(number: number, order: Partial<PayloadOrder> = {}) {
  const applicant = APPLICANTS[number % APPLICANTS.length] ?? {}
  const rows = [{ id: null, results: [CARD.makeResult(applicant)] }]
  const scoredAtMs = START + 100 * number
  const facts = { scoredAtMs, deploymentId: `dep_${number % 2}`, models: [CARD], rows }
  return readRecordV4(recordPayload({ ...facts, ...order }))
}
/** Ten seconds around the end of an hour. */
const ALL = Array.from({ length: 100 }, (_, number) => logged(number))
const IDS = ALL.map(({ requestId }) => requestId)

describe.each(backends)('on $name', (backend) => {
  const open = () => databaseForTest(backend)

  /** Stores the requests in blocks of five. */
  async function filled(): Promise<Database> {
    const { db } = await open()
    const store = new ScoreLogStore(db, SOURCE)
    for (let at = 0; at < ALL.length; at += 5) await store.append(ALL.slice(at, at + 5))
    return db
  }

  const allRollups = async (db: Database) =>
    Promise.all(
      (['minute', 'hour', 'day'] as const).flatMap((span) =>
        ['dep_0', 'dep_1'].map((deployment) => rollupOver(db, span, deployment)),
      ),
    )

  async function blocks(db: Database) {
    return queryRows<{ records: number; superseded: boolean }>(
      db,
      sql`select records, superseded_at is not null as superseded
        from score_blocks order by first_at`,
    )
  }

  test('rollups and sums of blocks give the same before, amid and after a round', async () => {
    const db = await filled()
    const before = await allRollups(db)
    expect(before.map((rollup) => rollup?.resultCount)).toEqual([50, 50, 50, 50, 50, 50])
    const tables = new BlockTables(db, SOURCE)
    expect(await tables.rollUp()).toBe(20)
    const rows = await queryRows(db, sql`select 1 from score_rollups`)
    expect(rows.length).toBeGreaterThan(5)
    const equal = (rollup: (typeof before)[number]) => ({
      ...rollup,
      scoreAvg: expect.closeTo(rollup?.scoreAvg ?? 0, 9),
      pdAvg: expect.closeTo(rollup?.pdAvg ?? 0, 12),
      latencyAvgMs: expect.closeTo(rollup?.latencyAvgMs ?? 0, 9),
    })
    expect(await allRollups(db)).toEqual(before.map(equal))
    // Something late, in minutes, hours and days that are summed already.
    const late = [0, 1, 2, 3].map((number) => logged(number))
    await new ScoreLogStore(db, SOURCE).append(late)
    expect((await rollupOver(db, 'hour', 'dep_0'))?.requestCount).toBe(52)
    expect(await tables.rollUp()).toBe(1)
    expect((await rollupOver(db, 'hour', 'dep_0'))?.requestCount).toBe(52)
    expect(await tables.rollUp()).toBe(0)
  })

  test('blocks with large sums are rolled up a few at a time, and one block always', async () => {
    const db = await filled()
    const before = await allRollups(db)
    const tables = new BlockTables(db, SOURCE)
    await growSums(db, 1_200_000)
    expect(await tables.rollUp()).toBe(3)
    await growSums(db, 3_200_000)
    for (let rest = 17; rest > 0; rest--) expect(await tables.rollUp()).toBe(1)
    expect(await tables.rollUp()).toBe(0)
    expect((await allRollups(db)).map((rollup) => rollup?.resultCount)).toEqual(
      before.map((rollup) => rollup?.resultCount),
    )
  })

  test('a batch over the end of an hour becomes two blocks', async () => {
    const { db } = await open()
    await new ScoreLogStore(db, SOURCE).append(ALL)
    expect((await blocks(db)).map(({ records }) => records)).toEqual([50, 50])
    expect(await loggedIds(db)).toEqual(IDS)
  })

  test('small blocks of an hour that is over become one, which a reader notices in nothing', async () => {
    const db = await filled()
    const tables = new BlockTables(db, SOURCE)
    // Not before their hours are over.
    expect(await tables.merge(START)).toBe(0)
    const reader = new BlockReader(db)
    const query = { fromMs: START, toMs: START + HOUR_MS, order: 'oldest' } as const
    const met: string[] = []
    let merged = 0
    for await (const stored of reader.blocksIn(query)) {
      const block = openBlock(stored)
      for (let at = 0; at < block.count; at++) met.push(block.requestId(at))
      merged += await tables.merge(Date.now())
    }
    expect(merged).toBe(20)
    expect(met).toEqual(IDS)
    expect(await loggedIds(db)).toEqual(IDS)
    expect((await blocks(db)).filter(({ superseded }) => !superseded)).toEqual([
      { records: 50, superseded: false },
      { records: 50, superseded: false },
    ])
    await tables.dropSuperseded(Date.now() + 2 * HOUR_MS)
    expect((await blocks(db)).length).toBe(22)
    await tables.dropSuperseded(Date.now() + 4 * HOUR_MS)
    expect((await blocks(db)).length).toBe(2)
    expect((await rollupOver(db, 'day', 'dep_0'))?.requestCount).toBe(50)
    expect(await tables.rollUp()).toBe(20)
    expect((await rollupOver(db, 'day', 'dep_0'))?.requestCount).toBe(50)
    expect(await tables.merge(Date.now())).toBe(0)
  })

  // A report over half of the log looks like one over all of it.
  test('a reader that is overtaken by a merge fails, and one overtaken by the retention ends', async () => {
    const db = await filled()
    const tables = new BlockTables(db, SOURCE)
    await tables.rollUp()
    const reader = new BlockReader(db)
    const query = { fromMs: START, toMs: START + HOUR_MS, order: 'oldest' } as const
    const slow = reader.blocksIn(query)[Symbol.asyncIterator]()
    await slow.next()
    expect(await tables.merge(Date.now())).toBe(10)
    await tables.dropSuperseded(Date.now() + 4 * HOUR_MS)
    const rest = async () => {
      while ((await slow.next()).done !== true);
    }
    await expect(rest()).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the log was rewritten while it was read: read this period again',
    })
    const day = Math.floor(START / (24 * HOUR_MS)) * 24 * HOUR_MS
    const log = new LogTables(db)
    await log.makePartitions([day, day + 24 * HOUR_MS])
    const scoredAtMs = day + 1_000
    const store = new ScoreLogStore(db, SOURCE)
    for (let number = 0; number < 10; number++) {
      await store.append([logged(number, { scoredAtMs: scoredAtMs + number })])
    }
    await db.execute(sql`update score_blocks set drained_at = drained_at - interval '25 hours'`)
    let left = 0
    for await (const _ of reader.blocksIn({ ...query, fromMs: day, toMs: day + 5_000 })) {
      if (left++ === 0) await log.dropBefore(day + 24 * HOUR_MS)
    }
    expect(left).toBe(4)
  })

  test('a block of many applicants is not merged, and those around it are', async () => {
    const { db } = await open()
    const store = new ScoreLogStore(db, SOURCE)
    const row = { id: null, results: [CARD.makeResult(APPLICANTS[0] ?? {})] }
    const many = Array.from({ length: 16_384 }, () => row)
    for (const rows of [[row], many, [row], many.slice(1), many.slice(1), many.slice(1)]) {
      await store.append([logged(0, { rows, isBatch: rows.length > 1 })])
    }
    const tables = new BlockTables(db, SOURCE)
    await tables.rollUp()
    expect(await tables.merge(Date.now())).toBe(5)
    expect(await tables.merge(Date.now())).toBe(0)
    const rows = await queryRows(
      db,
      sql`select applicants from score_blocks
      where superseded_at is null order by applicants`,
    )
    expect(rows).toEqual([{ applicants: 16_384 }, { applicants: 2 + 3 * 16_383 }])
  })

  test('a block whose model is unknown stays as it is, and others are merged', async () => {
    const db = await filled()
    const none: ModelSource = { compiled: async () => new Map() }
    const tables = new BlockTables(db, none)
    await tables.rollUp()
    await expect(tables.merge(Date.now())).rejects.toThrow('is not in the database')
    await expect(tables.merge(Date.now())).rejects.toThrow('is not in the database')
    expect(await tables.merge(Date.now())).toBe(0)
    expect(await loggedIds(db)).toEqual(IDS)
  })

  test('a request id leads to few blocks, one of which holds the request', async () => {
    const db = await filled()
    const reader = new BlockReader(db)
    for (const requestId of [IDS[0], IDS[49], IDS[50], IDS[99]]) {
      if (requestId === undefined) throw new Error('no such request')
      const met: number[] = []
      for await (const stored of reader.blocksAt(timeOfRequestId(requestId) ?? 0)) {
        met.push(openBlock(stored).find(requestId))
      }
      expect(met.length).toBeLessThanOrEqual(2)
      expect(met.filter((index) => index >= 0).length).toBe(1)
    }
  })

  test('blocks are chosen by deployment, reference and time, oldest or newest first', async () => {
    const { db } = await open()
    const store = new ScoreLogStore(db, SOURCE)
    for (let at = 0; at < 40; at++) {
      const reference = at % 10 === 3 ? `loan-${at}` : ''
      await store.append([logged(at, { reference, deploymentId: `dep_${at % 4}` })])
    }
    const reader = new BlockReader(db)
    const all = { fromMs: START, toMs: START + HOUR_MS } as const
    const readTimes = async (query: Partial<Parameters<typeof reader.blocksIn>[0]>) => {
      const times: number[] = []
      for await (const { firstAtMs } of reader.blocksIn({ ...all, order: 'oldest', ...query })) {
        times.push((firstAtMs - START) / 100)
      }
      return times
    }
    const rising = Array.from({ length: 40 }, (_, number) => number)
    expect(await readTimes({})).toEqual(rising)
    expect(await readTimes({ order: 'newest' })).toEqual(rising.toReversed())
    expect(await readTimes({ deploymentId: 'dep_1' })).toEqual(rising.filter((n) => n % 4 === 1))
    expect(await readTimes({ fromMs: START + 500, toMs: START + 701 })).toEqual([5, 6, 7])
    expect(await readTimes({ fromMs: -Infinity, toMs: Infinity })).toEqual(rising)
    const reference = { teamId: 'team_1', reference: 'loan-13' }
    const found = await readTimes({ reference })
    expect(found).toContain(13)
    expect(found.length).toBeLessThanOrEqual(2)
    expect(await readTimes({ reference: { ...reference, teamId: 'team_2' } })).not.toContain(13)
  })

  // A log of two years is read in windows: a day between two of them must be in one of them.
  test('blocks of all times are found, with and without a partition of their day', async () => {
    const { db } = await open()
    const dayMs = 24 * HOUR_MS
    const today = Math.floor(START / dayMs) * dayMs
    const days = [0, 1, 2, 3, 4, 7, 8, 31, 32, 33, 64, 65, 400, 760]
    await new LogTables(db).makePartitions(
      days.filter((day) => day !== 32 && day !== 400).map((day) => today - day * dayMs),
    )
    const store = new ScoreLogStore(db, SOURCE)
    for (const day of days) {
      await store.append([logged(1, { scoredAtMs: today - day * dayMs })])
      await store.append([logged(1, { scoredAtMs: today - day * dayMs + dayMs - 1 })])
    }
    const reader = new BlockReader(db)
    const listDays = async (order: 'oldest' | 'newest', fromMs = -Infinity, toMs = Infinity) => {
      const found: number[] = []
      for await (const { firstAtMs } of reader.blocksIn({ fromMs, toMs, order })) {
        found.push(Math.floor((today + dayMs - 1 - firstAtMs) / dayMs))
      }
      return found
    }
    const twice = days.flatMap((day) => [day, day])
    expect(await listDays('newest')).toEqual(twice)
    expect(await listDays('oldest')).toEqual(twice.toReversed())
    const [fromMs, toMs] = [today - 70 * dayMs, today - 2 * dayMs]
    const within = twice.filter((day) => day > 2 && day < 70)
    expect(await listDays('newest', fromMs, toMs)).toEqual(within)
    expect(await listDays('oldest', fromMs, toMs)).toEqual(within.toReversed())
  })

  test('a batch is stored once, whoever sends it, and only from where the database is', async () => {
    const { db } = await open()
    const one = new ScoreLogStore(db, SOURCE)
    const other = new ScoreLogStore(db, SOURCE)
    const at = (offset: number) => ({ segment: offset === 0 ? 0 : 1, offset })
    const move = (from: number, to: number) => ({ spoolId: 's', from: at(from), to: at(to) })
    const [first, second] = [ALL.slice(0, 10), ALL.slice(10, 20)]
    const tries = await Promise.allSettled([
      one.append(first, move(0, 10)),
      other.append(first, move(0, 10)),
    ])
    expect(tries.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await expect(one.append(second, move(0, 20))).rejects.toMatchObject({ stored: at(10) })
    await expect(one.append(second, move(15, 20))).rejects.toMatchObject({ stored: at(10) })
    await one.append(second, move(10, 20))
    expect(await loggedIds(db)).toEqual(IDS.slice(0, 20))
    expect(await one.cursors(['s', 't'])).toEqual(
      new Map([
        ['s', at(20)],
        ['t', at(0)],
      ]),
    )
  })

  test('records that are only tried leave nothing', async () => {
    const { db } = await open()
    await new ScoreLogStore(db, SOURCE).probe(ALL.slice(0, 5))
    expect(await loggedIds(db)).toEqual([])
  })
})
