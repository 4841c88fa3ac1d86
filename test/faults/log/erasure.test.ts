import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { BlockReader } from '../../../src/log/blocks/block-store.ts'
import { BlockTables } from '../../../src/log/blocks/upkeep/block-tables.ts'
import { ScoreLogStore } from '../../../src/log/drain/store.ts'
import { ErasedPlaces, LogEraser } from '../../../src/log/erasure/eraser.ts'
import { ErasureStore } from '../../../src/log/erasure/erasure-store.ts'
import { LogReader } from '../../../src/log/reading/log-reader.ts'
import type { ModelSource } from '../../../src/log/record/model-source.ts'
import { readRecordV4 } from '../../../src/log/record/record-v4.ts'
import { type Database, queryRows } from '../../../src/platform/db/client.ts'
import { changed } from '../../support/archive/faults.ts'
import { sampleSpec } from '../../support/cards/cards.ts'
import { loggedIds, rollupOver } from '../../support/score-log/log-rows.ts'
import {
  type PayloadOrder,
  recordPayload,
  testModel,
} from '../../support/score-log/record-payloads.ts'
import { backends } from '../../support/start/databases.ts'
import { databaseForTest } from '../../support/start/seeded-database.ts'

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
  const rows = [{ id: null, results: [CARD.makeResult({})] }]
  const payload = recordPayload({ models: [CARD], rows, scoredAtMs: START + at, ...order })
  return readRecordV4(payload)
}

/** A batch of applicants with these ids. */
function batch(at: number, ids: readonly (string | number | null)[]) {
  const rows = ids.map((id) => ({ id, results: [CARD.makeResult({})] }))
  return logged(at, { rows, isBatch: true })
}

/** Each tenth has the reference. */
const ALL = Array.from({ length: 40 }, (_, n) =>
  logged(n, { reference: n % 10 === 3 ? 'A-1' : `B-${n}`, deploymentId: `dep_${n % 2}` }),
)
const IDS = ALL.map(({ requestId }) => requestId)

describe.each(backends)('on $name', (backend) => {
  const open = () => databaseForTest(backend)

  /** A log of four blocks. */
  async function filled(): Promise<Database> {
    const { db } = await open()
    const store = new ScoreLogStore(db, SOURCE)
    for (let at = 0; at < ALL.length; at += 10) await store.append(ALL.slice(at, at + 10))
    return db
  }

  async function erase(
    db: Database,
    blocks: BlockReader = new BlockReader(db),
    reference = ERASURE.reference,
  ) {
    const store = new ErasureStore(db)
    const erased = new ErasedPlaces()
    await new LogEraser({ blocks, models: SOURCE, store, archive: NO_ARCHIVE }).erase(
      { ...ERASURE, reference },
      erased,
    )
    return { places: erased.places, requests: erased.requests }
  }

  /** References and record ids in the order of the log, and how many a search finds. */
  async function referencesIn(db: Database, teamId = 'team_1') {
    const reader = new LogReader({ blocks: new BlockReader(db), models: SOURCE })
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
  const REFERENCES = ALL.map(({ reference }) => (reference === 'A-1' ? null : reference))

  test('blocks lose the reference, and every figure stays', async () => {
    const db = await filled()
    const figures = await rollupOver(db, 'day', 'dep_1')
    expect((await referencesIn(db)).found).toBe(4)
    expect(await erase(db)).toEqual({ places: 4, requests: 4 })
    expect(await referencesIn(db)).toEqual({ references: REFERENCES, found: 0 })
    expect(await loggedIds(db)).toEqual(IDS)
    expect(await rollupOver(db, 'day', 'dep_1')).toEqual(figures)
    const tables = new BlockTables(db, SOURCE)
    expect(await tables.rollUp()).toBe(4)
    expect((await rollupOver(db, 'day', 'dep_1'))?.resultCount).toBe(20)
    expect(await erase(db)).toEqual({ places: 0, requests: 0 })
  })

  test('an erasure leaves a rolled up block rolled up', async () => {
    const db = await filled()
    const tables = new BlockTables(db, SOURCE)
    await tables.rollUp()
    const figures = await rollupOver(db, 'hour', 'dep_1')
    await erase(db)
    expect(await tables.rollUp()).toBe(0)
    expect(await rollupOver(db, 'hour', 'dep_1')).toEqual(figures)
  })

  test('batches lose the record ids, those of other teams do not', async () => {
    const { db } = await open()
    const store = new ScoreLogStore(db, SOURCE)
    await store.append([batch(0, ['A-1', 'A-11', 'A-1']), batch(1, [7, null]), batch(2, ['A-2'])])
    await store.append([logged(3, { reference: 'A-1', teamId: 'team_2' })])
    const figures = await rollupOver(db, 'day', 'dep_1')
    expect(await erase(db)).toEqual({ places: 2, requests: 1 })
    const references = [[null, 'A-11', null], [7, null], ['A-2']]
    expect(await referencesIn(db)).toEqual({ references, found: 0 })
    expect(await referencesIn(db, 'team_2')).toEqual({ references: ['A-1'], found: 1 })
    expect(await rollupOver(db, 'day', 'dep_1')).toEqual(figures)

    // What other replicas drain afterwards.
    const late = new ScoreLogStore(db, SOURCE)
    await late.append([batch(4, ['A-1', 9]), logged(5, { reference: 'A-1' })])
    expect((await referencesIn(db)).references).toEqual([...references, [null, 9], null])
    // A request that is scored after the erasure may have the same reference.
    await late.append([logged(HOUR_MS + 1, { reference: 'A-1' })])
    expect((await referencesIn(db)).found).toBe(1)
  })

  test('erasures of one block at the same time do not undo each other', async () => {
    const db = await filled()
    const references = ['A-1', 'B-4', 'B-5', 'B-6']
    const erasures = references.map((one) => erase(db, new BlockReader(db), one))
    const counts = (await Promise.all(erasures)).map(({ places }) => places)
    expect(counts).toEqual([4, 1, 1, 1])
    const left = REFERENCES.map((one) => (references.includes(one ?? '') ? null : one))
    expect(await referencesIn(db)).toEqual({ references: left, found: 0 })
  })

  // The merge copies a block that the erasure has listed, but not changed yet.
  test('a merge amid an erasure does not save the reference', async () => {
    const db = await filled()
    const tables = new BlockTables(db, SOURCE)
    await tables.rollUp()
    const inner = new BlockReader(db)
    let merged = 0
    const blocks = changed<BlockReader>(inner, {
      async *blocksIn(query) {
        for await (const block of inner.blocksIn(query)) {
          if (merged === 0) merged = await tables.merge(Date.now())
          yield block
        }
      },
    })
    expect(await erase(db, blocks)).toEqual({ places: 4, requests: 4 })
    expect(merged).toBe(4)
    expect(await referencesIn(db)).toEqual({ references: REFERENCES, found: 0 })
    const [stored] = await queryRows<{ blocks: number }>(
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
    const tables = new BlockTables(db, source)
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
    await new ScoreLogStore(db, source).append(ALL)
    expect(erased).toEqual({ places: 0, requests: 0 })
    expect(await referencesIn(db)).toEqual({ references: REFERENCES, found: 0 })
    expect(await loggedIds(db)).toEqual(IDS)
  })

  test('batches that are stored while a reference is erased do not keep it', async () => {
    const { db } = await open()
    const store = new ScoreLogStore(db, SOURCE)
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
