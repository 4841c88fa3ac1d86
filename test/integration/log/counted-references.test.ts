import { describe, expect, test } from 'vitest'
import { BlockReader } from '../../../src/log/blocks/block-store.ts'
import { BlockTables } from '../../../src/log/blocks/upkeep/block-tables.ts'
import { ScoreLogStore } from '../../../src/log/drain/store.ts'
import { ErasedPlaces, LogEraser } from '../../../src/log/erasure/eraser.ts'
import { ErasureStore } from '../../../src/log/erasure/erasure-store.ts'
import { scanApplicants } from '../../../src/log/reading/applicant-scan.ts'
import type { ScanQuery } from '../../../src/log/reading/log-query.ts'
import { LogReader } from '../../../src/log/reading/log-reader.ts'
import type { ModelSource } from '../../../src/log/record/model-source.ts'
import { readRecordV4 } from '../../../src/log/record/record-v4.ts'
import type { Database } from '../../../src/platform/db/client.ts'
import { sampleSpec } from '../../support/cards/cards.ts'
import { recordPayload, testModel } from '../../support/score-log/record-payloads.ts'
import { backends } from '../../support/start/databases.ts'
import { databaseForTest } from '../../support/start/seeded-database.ts'

const HOUR_MS = 3_600_000
/** Three hours that are over. */
const START = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS
const CARD = testModel(sampleSpec(), 'mod_1')
const OTHER = testModel(sampleSpec(), 'mod_2', 'ch_1')
const MODELS = [CARD, OTHER]
const SOURCE: ModelSource = {
  compiled: async () => new Map(MODELS.map(({ modelId, model }) => [modelId, model])),
}

const NO_ARCHIVE = { replaceBlocks: async () => false, finish: async () => undefined }
const SLOTS = 60

/** Numbers from 0 to before `below`, the same in each run (Lehmer's generator). */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

/** Requests at any of few times, so that many share one; most have references that come often. */
function requests(count: number, random: (below: number) => number) {
  const formatName = () => (random(5) === 0 ? null : `R-${random(12)}`)
  return Array.from({ length: count }, () => {
    const isBatch = random(6) === 0
    const rows = Array.from({ length: isBatch ? 3 : 1 }, () => ({
      id: isBatch ? formatName() : null,
      results: [CARD.makeResult({}), random(8) === 0 ? null : OTHER.makeResult({})],
    }))
    const reference = isBatch ? null : formatName()
    const payload = recordPayload({
      models: MODELS,
      rows,
      isBatch,
      teamId: random(4) === 0 ? 'team_2' : 'team_1',
      deploymentId: `dep_${random(2)}`,
      scoredAtMs: START + random(SLOTS) * (HOUR_MS / 20),
      ...(reference !== null && { reference }),
    })
    return readRecordV4(payload)
  })
}

function makeReader(db: Database): LogReader {
  return new LogReader({ blocks: new BlockReader(db), models: SOURCE })
}

/** The applicants of the challenger, which fails now and then, that a report counts. */
async function counted(log: LogReader, query: ScanQuery, dedupe: 'first' | 'last') {
  const found: string[] = []
  await scanApplicants({ log, query, dedupe }, (columns) => ({
    takes: (row) => columns.models[1]?.scored[row] === 1,
    add: (rows) => {
      for (const row of rows) {
        found.push(
          `${columns.requestId(columns.requestOfRow[row] ?? 0)}.${columns.recordIndex(row)}`,
        )
      }
    },
  }))
  return found.sort()
}

/** The same from whole requests, which another decoder reads. */
async function recounted(log: LogReader, query: ScanQuery, dedupe: 'first' | 'last') {
  const best = new Map<string, { readonly place: string; readonly order: readonly number[] }>()
  let position = 0
  for await (const portion of log.scan(query)) {
    for (const { requestId, isBatch, reference, rows, scoredAtMs } of portion) {
      for (const [index, row] of rows.entries()) {
        position++
        if (row.results[1] == null) continue
        const place = `${requestId}.${index}`
        const name = isBatch ? row.id : reference
        const key = name === null ? `none ${place}` : `reference ${name}`
        const order = [scoredAtMs, index, position]
        const known = best.get(key)?.order
        if (known === undefined || isLater(order, known) === (dedupe === 'last')) {
          best.set(key, { place, order })
        }
      }
    }
  }
  return [...best.values()].map(({ place }) => place).sort()
}

function isLater(one: readonly number[], other: readonly number[]): boolean {
  const place = one.findIndex((part, index) => part !== other[index])
  return (one[place] ?? 0) > (other[place] ?? 0)
}

/** The whole log, and periods that cut blocks. */
const PERIODS = [
  [-Infinity, Infinity],
  [START + HOUR_MS / 4, START + 2.35 * HOUR_MS],
  [START + HOUR_MS, START + HOUR_MS + 1],
] as const

describe.each(backends)('on $name', (backend) => {
  const filled = async () => (await databaseForTest(backend)).db

  async function append(db: Database, seed: number, count: number) {
    const all = requests(count, numbers(seed))
    const store = new ScoreLogStore(db, SOURCE)
    // Unsorted: each call leaves a block for each hour, and all of them overlap.
    for (let at = 0; at < all.length; at += 60) await store.append(all.slice(at, at + 60))
  }

  async function expectEqual(db: Database): Promise<number> {
    const log = makeReader(db)
    let sum = 0
    for (const [fromMs, toMs] of PERIODS) {
      for (const [teamId, deploymentId] of [
        ['team_1', 'dep_0'],
        ['team_2', 'dep_1'],
      ] as const) {
        const query = { teamId, deploymentId, fromMs, toMs }
        for (const dedupe of ['last', 'first'] as const) {
          const found = await counted(log, query, dedupe)
          expect(found).toEqual(await recounted(log, query, dedupe))
          sum += found.length
        }
      }
    }
    return sum
  }

  test('reports count what a recount does, before and after merges, erasures and late records', async () => {
    const db = await filled()
    const tables = new BlockTables(db, SOURCE)
    await append(db, 1, 240)
    const before = await expectEqual(db)
    await tables.rollUp()
    expect(await tables.merge(Date.now())).toBeGreaterThan(1)
    expect(await expectEqual(db)).toBe(before)
    const eraser = new LogEraser({
      blocks: new BlockReader(db),
      models: SOURCE,
      store: new ErasureStore(db),
      archive: NO_ARCHIVE,
    })
    const erased = new ErasedPlaces()
    const erasure = { teamId: 'team_1', reference: 'R-3', untilMs: START + 3 * HOUR_MS }
    await eraser.erase(erasure, erased)
    expect(erased.places).toBeGreaterThan(3)
    // Without a reference each of them counts.
    expect(await expectEqual(db)).toBeGreaterThan(before)
    await append(db, 2, 60)
    await tables.rollUp()
    while ((await tables.merge(Date.now())) > 0);
    await expectEqual(db)
  })
})
