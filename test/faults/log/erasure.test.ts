import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Database, type DatabaseHandle, rowsOf } from '../../../src/platform/db/client.ts'
import { type BlockReader, PostgresBlockReader } from '../../../src/score-log/blocks/block-store.ts'
import { PostgresBlockTables } from '../../../src/score-log/blocks/upkeep/block-tables.ts'
import { PostgresScoreLogStore } from '../../../src/score-log/drain/store.ts'
import { ErasedPlaces, LogEraser } from '../../../src/score-log/erasure/eraser.ts'
import { PostgresErasureStore } from '../../../src/score-log/erasure/erasure-store.ts'
import { PostgresFirstFormStore } from '../../../src/score-log/reading/first-form-store.ts'
import { LogBlocks } from '../../../src/score-log/reading/log-blocks.ts'
import { LogReader } from '../../../src/score-log/reading/log-reader.ts'
import { LogRows } from '../../../src/score-log/reading/log-rows.ts'
import type { ModelSource } from '../../../src/score-log/record/model-source.ts'
import { readRecordV4 } from '../../../src/score-log/record/record-v4.ts'
import { sampleSpec } from '../../support/cards/cards.ts'
import { loggedIds, rollupOver } from '../../support/score-log/log-rows.ts'
import {
  type PayloadOrder,
  recordPayload,
  testModel,
} from '../../support/score-log/record-payloads.ts'
import { loggedRecord } from '../../support/score-log/records.ts'
import { backends } from '../../support/start/databases.ts'
import { openTestDatabase } from '../../support/start/seeded-database.ts'

const HOUR_MS = 3_600_000
/** An hour that is over. */
const START = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 2 * HOUR_MS
const CARD = testModel(sampleSpec(), 'mod_1')
const MODELS = new Map([['mod_1', CARD.model]])
const SOURCE: ModelSource = { compiled: async () => MODELS }
const NO_ARCHIVE = { replaceBlocks: async () => false, finish: async () => undefined }
const ERASURE = { teamId: 'team_1', reference: 'A-1', untilMs: START + HOUR_MS }

/** A single request that was scored so many milliseconds after the start of the hour. */
function logged(at: number, order: Partial<PayloadOrder> = {}) {
  const rows = [{ id: null, results: [CARD.resultOf({})] }]
  const payload = recordPayload({ models: [CARD], rows, scoredAtMs: START + at, ...order })
  return { record: readRecordV4(payload), served: null }
}

/** A batch of applicants with these ids. */
function batch(at: number, ids: readonly (string | number | null)[]) {
  const rows = ids.map((id) => ({ id, results: [CARD.resultOf({})] }))
  return logged(at, { rows, isBatch: true })
}

/** Each tenth has the reference. */
const ALL = Array.from({ length: 40 }, (_, n) =>
  logged(n, { reference: n % 10 === 3 ? 'A-1' : `B-${n}`, deploymentId: `dep_${n % 2}` }),
)
const IDS = ALL.map(({ record }) => record.requestId)

/** What leads an erasure to rows of the first form. */
async function insertDeployment(db: Database): Promise<void> {
  await db.execute(sql`insert into teams (id, name, created_at) values ('team_1', 'a team', now())`)
  await db.execute(sql`insert into models (id, team_id, name, version, spec_version, environment,
      status, spec, deployed_by, created_at, updated_at)
    values ('mod_1', 'team_1', 'a card', '1', '1', 'production', 'active', '{}', 'user_1', now(),
      now())`)
  await db.execute(sql`insert into deployments (id, team_id, name, environment, is_active,
      champion_model_id, shadow_mode, cache_version, created_at, updated_at)
    values ('dep_1', 'team_1', 'a card', 'production', true, 'mod_1', false, 1, now(), now())`)
}

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

  /** A log of four blocks. */
  async function filled(): Promise<Database> {
    const { db } = await open()
    const store = new PostgresScoreLogStore(db, 'a', SOURCE)
    for (let at = 0; at < ALL.length; at += 10) await store.append(ALL.slice(at, at + 10))
    return db
  }

  async function erase(
    db: Database,
    blocks: BlockReader = new PostgresBlockReader(db),
    reference = ERASURE.reference,
  ) {
    const rows = new PostgresFirstFormStore(db)
    const store = new PostgresErasureStore(db)
    const erased = new ErasedPlaces()
    await new LogEraser({ blocks, rows, models: SOURCE, store, archive: NO_ARCHIVE }).erase(
      { ...ERASURE, reference },
      erased,
    )
    return { places: erased.places, requests: erased.requests }
  }

  /** References and record ids in the order of the log, and how many a search finds. */
  async function referencesIn(db: Database, teamId = 'team_1') {
    const blocks = new LogBlocks({ blocks: new PostgresBlockReader(db), models: SOURCE })
    const reader = new LogReader([blocks, new LogRows(new PostgresFirstFormStore(db))])
    const query = { teamId, deploymentId: null, fromMs: -Infinity, toMs: Infinity }
    const references: unknown[] = []
    for await (const portion of reader.scan(query)) {
      for (const { isBatch, reference, rows } of portion) {
        references.push(isBatch ? rows.map(({ id }) => id) : reference)
      }
    }
    let found = 0
    for await (const _ of reader.search({ ...query, reference: 'A-1', before: null })) found++
    return { references, found }
  }
  const REFERENCES = ALL.map(({ record: { reference } }) =>
    reference === 'A-1' ? null : reference,
  )

  test('blocks lose the reference, and every figure stays', async () => {
    const db = await filled()
    const figures = await rollupOver(db, 'day', 'dep_1')
    expect((await referencesIn(db)).found).toBe(4)
    expect(await erase(db)).toEqual({ places: 4, requests: 4 })
    expect(await referencesIn(db)).toEqual({ references: REFERENCES, found: 0 })
    expect(await loggedIds(db)).toEqual(IDS)
    expect(await rollupOver(db, 'day', 'dep_1')).toEqual(figures)
    const tables = new PostgresBlockTables(db, SOURCE)
    expect(await tables.rollUp()).toBe(4)
    expect((await rollupOver(db, 'day', 'dep_1'))?.resultCount).toBe(20)
    expect(await erase(db)).toEqual({ places: 0, requests: 0 })
  })

  test('an erasure leaves a rolled up block rolled up', async () => {
    const db = await filled()
    const tables = new PostgresBlockTables(db, SOURCE)
    await tables.rollUp()
    const figures = await rollupOver(db, 'hour', 'dep_1')
    await erase(db)
    expect(await tables.rollUp()).toBe(0)
    expect(await rollupOver(db, 'hour', 'dep_1')).toEqual(figures)
  })

  test('batches of both forms lose the record ids, those of other teams do not', async () => {
    const { db } = await open()
    await insertDeployment(db)
    const store = new PostgresScoreLogStore(db, 'a', SOURCE)
    const older = (at: number, recordIds: (string | number | null)[]) =>
      loggedRecord({
        scoredAtMs: START - HOUR_MS + at,
        isBatch: true,
        recordIds,
        scores: [recordIds.map((_, n) => n)],
      })
    await store.append([older(0, ['A-1', 'A-11', 'A-1']), older(1, [7, null])])
    await store.append([batch(0, ['A-1', 8, null]), batch(1, ['A-2'])])
    await store.append([logged(2, { reference: 'A-1', teamId: 'team_2' })])
    const figures = await rollupOver(db, 'day', 'dep_1')
    expect(await erase(db)).toEqual({ places: 3, requests: 2 })
    const references = [[null, 'A-11', null], [7, null], [null, 8, null], ['A-2']]
    expect(await referencesIn(db)).toEqual({ references, found: 0 })
    expect(await referencesIn(db, 'team_2')).toEqual({ references: ['A-1'], found: 1 })
    expect(await rollupOver(db, 'day', 'dep_1')).toEqual(figures)

    // What other replicas drain afterwards, of either form.
    const late = new PostgresScoreLogStore(db, 'b', SOURCE)
    await late.append([older(2, ['A-1', 9])])
    await late.append([batch(3, ['A-1', 9]), logged(4, { reference: 'A-1' })])
    expect((await referencesIn(db)).references).toEqual([
      ...references.slice(0, 2),
      [null, 9],
      ...references.slice(2),
      [null, 9],
      null,
    ])
    // A request that is scored after the erasure may have the same reference.
    await late.append([logged(HOUR_MS + 1, { reference: 'A-1' })])
    expect((await referencesIn(db)).found).toBe(1)
  })

  test('erasures of one block at the same time do not undo each other', async () => {
    const db = await filled()
    const references = ['A-1', 'B-4', 'B-5', 'B-6']
    const erasures = references.map((one) => erase(db, new PostgresBlockReader(db), one))
    const counts = (await Promise.all(erasures)).map(({ places }) => places)
    expect(counts).toEqual([4, 1, 1, 1])
    const left = REFERENCES.map((one) => (references.includes(one ?? '') ? null : one))
    expect(await referencesIn(db)).toEqual({ references: left, found: 0 })
  })

  // The merge copies a block that the erasure has listed, but not changed yet.
  test('a merge amid an erasure does not save the reference', async () => {
    const db = await filled()
    const tables = new PostgresBlockTables(db, SOURCE)
    await tables.rollUp()
    const inner = new PostgresBlockReader(db)
    let merged = 0
    const blocks: BlockReader = {
      blocksAt: (idMs) => inner.blocksAt(idMs),
      async *blocksIn(query) {
        for await (const block of inner.blocksIn(query)) {
          if (merged === 0) merged = await tables.merge(Date.now())
          yield block
        }
      },
    }
    expect(await erase(db, blocks)).toEqual({ places: 4, requests: 4 })
    expect(merged).toBe(4)
    expect(await referencesIn(db)).toEqual({ references: REFERENCES, found: 0 })
    const [stored] = await rowsOf<{ blocks: number }>(
      db,
      sql`select count(*)::integer as blocks from score_blocks`,
    )
    expect(stored?.blocks).toBe(5)
    expect((await rollupOver(db, 'day', 'dep_1'))?.resultCount).toBe(20)
  })

  test('an erasure amid a merge takes the merge back', async () => {
    const db = await filled()
    let erased: unknown
    const source: ModelSource = {
      compiled: async () => {
        erased ??= await erase(db)
        return MODELS
      },
    }
    const tables = new PostgresBlockTables(db, source)
    await tables.rollUp()
    expect(await tables.merge(Date.now())).toBe(0)
    expect(erased).toEqual({ places: 4, requests: 4 })
    expect(await tables.merge(Date.now())).toBe(4)
    expect(await referencesIn(db)).toEqual({ references: REFERENCES, found: 0 })
    expect((await rollupOver(db, 'day', 'dep_1'))?.resultCount).toBe(20)
  })

  test('a batch that was encoded before an erasure is encoded again', async () => {
    const { db } = await open()
    let erased: unknown
    const source: ModelSource = {
      compiled: async () => {
        erased ??= await erase(db)
        return MODELS
      },
    }
    await new PostgresScoreLogStore(db, 'a', source).append(ALL)
    expect(erased).toEqual({ places: 0, requests: 0 })
    expect(await referencesIn(db)).toEqual({ references: REFERENCES, found: 0 })
    expect(await loggedIds(db)).toEqual(IDS)
  })

  test('batches that are stored while a reference is erased do not keep it', async () => {
    const { db } = await open()
    const store = new PostgresScoreLogStore(db, 'a', SOURCE)
    const drain = async () => {
      for (let at = 0; at < ALL.length; at++) {
        const segment = at === 0 ? 0 : 1
        const from = { segment, offset: at }
        const position = { spoolId: 's', from, to: { segment: 1, offset: at + 1 } }
        await store.append(ALL.slice(at, at + 1), position)
      }
    }
    await Promise.all([drain(), erase(db), erase(db)])
    expect(await referencesIn(db)).toEqual({ references: REFERENCES, found: 0 })
    expect(await loggedIds(db)).toEqual(IDS)
  })
})
