import { sql } from 'drizzle-orm'
import { describe, expect, test, vi } from 'vitest'
import { BlockReader } from '../../../src/log/blocks/block-store.ts'
import { BlockTables } from '../../../src/log/blocks/upkeep/block-tables.ts'
import { ScoreLogStore } from '../../../src/log/drain/store.ts'
import { ErasedPlaces, LogEraser } from '../../../src/log/erasure/eraser.ts'
import { ErasureStore } from '../../../src/log/erasure/erasure-store.ts'
import {
  type Dedupe,
  scanApplicants,
  scanTogether,
} from '../../../src/log/reading/applicant-scan.ts'
import { LogReader } from '../../../src/log/reading/log-reader.ts'
import type { ModelSource } from '../../../src/log/record/model-source.ts'
import { readRecordV4 } from '../../../src/log/record/record-v4.ts'
import type { Database } from '../../../src/platform/db/client.ts'
import { cellLayout } from '../../../src/reports/monitoring/cell-layout.ts'
import { ModelTallies, type Population } from '../../../src/reports/monitoring/model-tally.ts'
import {
  CARD as ARCHIVED,
  ArchivedLog,
  DAY,
  logged,
  makeDay,
  NOW,
  SCAN,
} from '../../support/archive/archived-log.ts'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { recordPayload, testModel } from '../../support/score-log/record-payloads.ts'
import { backends } from '../../support/start/databases.ts'
import { databaseForTest } from '../../support/start/seeded-database.ts'

const HOUR_MS = 3_600_000
const HOURS = 3
const START = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 5 * HOUR_MS
const SPEC = withFewPoints(sampleSpec())
const CARD = testModel(SPEC, 'mod_1')
const OTHER = testModel({ ...SPEC, base_points: 1.1 }, 'mod_2', 'ch_1')
/** The champion's card once more: reports count the champion. */
const TWICE = testModel(SPEC, 'mod_1', 'ch_2')
const APPLICANTS = sampleApplicants().map(({ applicant }) => applicant)
const SOURCE: ModelSource = {
  compiled: async () =>
    new Map([
      ['mod_1', CARD.model],
      ['mod_2', OTHER.model],
    ]),
}
const NO_ARCHIVE = { replaceBlocks: async () => false, finish: async () => undefined }
const LAYOUTS = cellLayout({ spec: SPEC as never, model: CARD.model })
const BANDS = [null, 400, 500.5, 600, null].flatMap((min, place, edges) =>
  place === edges.length - 1 ? [] : [{ min, max: edges[place + 1] ?? null, n: 1 }],
)

/** Tens of points give many applicants the same score. */
function withFewPoints(spec: ReturnType<typeof sampleSpec>) {
  const features = spec.features.map(({ bins, ...feature }) => ({
    ...feature,
    bins: bins.map((bin) => ({ ...bin, points: 10 * Math.round(bin.points / 10) })),
  }))
  return { ...spec, features } as ReturnType<typeof sampleSpec>
}

/** Numbers from 0 to before `below`, the same in each run (Lehmer's generator). */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

/** Requests of two deployments; references come in the last hour, and of one deployment alone. */
function requests(count: number, random: (below: number) => number) {
  const pick = () => APPLICANTS[random(APPLICANTS.length)] ?? {}
  return Array.from({ length: count }, () => {
    const deployment = random(2)
    const hour = random(HOURS)
    const isNamed = deployment === 1 && hour === HOURS - 1
    const formatName = () => (isNamed && random(3) > 0 ? `R-${random(12)}` : null)
    const isBatch = random(6) === 0
    const hasThird = random(2) === 0
    const rows = Array.from({ length: isBatch ? 3 : 1 }, () => ({
      id: isBatch ? formatName() : null,
      results: [
        CARD.makeResult(pick()),
        random(8) === 0 ? null : OTHER.makeResult(pick()),
        ...(hasThird ? [TWICE.makeResult(pick())] : []),
      ],
    }))
    const reference = isBatch ? null : formatName()
    const isLive = rows.every(({ results }) => results[1] !== null) && random(3) === 0
    const payload = recordPayload({
      models: hasThird ? [CARD, OTHER, TWICE] : [CARD, OTHER],
      rows,
      isBatch,
      teamId: random(10) === 0 ? 'team_2' : 'team_1',
      deploymentId: `dep_${deployment}`,
      served: isLive ? 1 : 0,
      scoredAtMs: START + hour * HOUR_MS + random(HOUR_MS),
      ...(reference !== null && { reference }),
    })
    return readRecordV4(payload)
  })
}

interface Asked {
  readonly deploymentId: string
  readonly modelId: string
  readonly population: Population
  readonly dedupe: Dedupe
  readonly range: readonly [fromMs: number, toMs: number]
  readonly withBands: boolean
  readonly byHour: boolean
}

/** Every combination, over the whole log and over periods that cut blocks. */
function* questions(): Generator<Asked> {
  const ranges = [
    [-Infinity, Infinity],
    [START + HOUR_MS / 4, START + 2.35 * HOUR_MS],
    [START + HOUR_MS, START + 2 * HOUR_MS],
  ] as const
  let number = 0
  for (const deploymentId of ['dep_0', 'dep_1'])
    for (const modelId of ['mod_1', 'mod_2'])
      for (const population of ['all', 'served'] as const)
        for (const dedupe of ['last', 'first', 'none'] as const)
          for (const range of ranges) {
            const [withBands, byHour] = [number % 2 === 0, number % 4 < 2]
            yield { deploymentId, modelId, population, dedupe, range, withBands, byHour }
            number++
          }
}

describe.each(backends)('on $name', (backend) => {
  /** What a report counts, and how many blocks it read. */
  async function counted(db: Database, asked: Asked, takesCounts: boolean) {
    const blocks = new BlockReader(db)
    const open = vi.spyOn(blocks, 'open')
    const log = new LogReader({ blocks, models: SOURCE })
    const { modelId, population, dedupe, deploymentId, range } = asked
    const findStart = asked.byHour ? (ms: number) => Math.floor(ms / HOUR_MS) * HOUR_MS : undefined
    const tallies = new ModelTallies({
      modelId,
      population,
      layouts: LAYOUTS,
      bands: asked.withBands ? BANDS : [],
      ...(findStart && { findStart }),
    })
    const { takers, makeReader, takeCounts } = tallies
    const periods = findStart && { name: 'hour', of: findStart }
    const query = { teamId: 'team_1', deploymentId, fromMs: range[0], toMs: range[1] }
    const reader = { takers, makeReader, ...(periods && { periods }) }
    const failures = await scanTogether({ log, query, dedupe }, () => [
      takesCounts ? { ...reader, takeCounts } : reader,
    ])
    expect([...failures]).toEqual([])
    const found = tallies.periods.map(([startMs, tally]) => {
      const { n, meanScore, counts, bands } = tally
      return { startMs, n, meanScore, counts, bands }
    })
    return { found, opened: open.mock.calls.length }
  }

  /** @returns blocks that scans read, and that reports read */
  async function expectEqual(db: Database): Promise<readonly [scanned: number, read: number]> {
    let [scanned, read] = [0, 0]
    for (const asked of questions()) {
      const [report, scan] = [await counted(db, asked, true), await counted(db, asked, false)]
      expect(report.found, JSON.stringify(asked)).toEqual(scan.found)
      expect(scan.found.length, JSON.stringify(asked)).toBeGreaterThan(0)
      scanned += scan.opened
      read += report.opened
    }
    return [scanned, read]
  }

  async function append(db: Database, seed: number, each: number, times: number) {
    const random = numbers(seed)
    const store = new ScoreLogStore(db, SOURCE)
    for (let time = 0; time < times; time++) await store.append(requests(each, random))
  }

  const WHOLE = {
    modelId: 'mod_1',
    population: 'all',
    range: [-Infinity, Infinity],
    withBands: true,
    byHour: false,
  } as const

  test('a report from counts is a scan to the bit, with late records, merges and erasures', async () => {
    const { db } = await databaseForTest(backend)
    const tables = new BlockTables(db, SOURCE)
    await append(db, 1, 700, 2)
    // Late records come as small blocks, which have no counts.
    await append(db, 2, 30, 2)
    const [scanned, read] = await expectEqual(db)
    expect(read).toBeLessThan(scanned)

    await tables.rollUp()
    while ((await tables.merge(Date.now())) > 0);
    await expectEqual(db)
    // Every block has counts now, and the report on the deployment without references needs no other.
    const ofNames = { ...WHOLE, deploymentId: 'dep_1' }
    expect(
      (await counted(db, { ...WHOLE, deploymentId: 'dep_0', dedupe: 'last' }, true)).opened,
    ).toBe(0)
    expect((await counted(db, { ...ofNames, dedupe: 'none' }, true)).opened).toBe(0)
    const before = await counted(db, { ...ofNames, dedupe: 'last' }, true)
    expect(before.opened).toBeGreaterThan(0)

    const eraser = new LogEraser({
      blocks: new BlockReader(db),
      models: SOURCE,
      store: new ErasureStore(db),
      archive: NO_ARCHIVE,
    })
    for (let name = 0; name < 12; name++) {
      const erasure = { teamId: 'team_1', reference: `R-${name}`, untilMs: Date.now() }
      await eraser.erase(erasure, new ErasedPlaces())
      if (name === 5) await expectEqual(db)
    }
    await expectEqual(db)
    // Without a reference each of them counts, and counts are enough.
    const after = await counted(db, { ...ofNames, dedupe: 'last' }, true)
    expect(after.opened).toBe(0)
    expect(after.found[0]?.n).toBeGreaterThan(before.found[0]?.n ?? Infinity)
  })

  // Replicas of the release before write no counts, and leave those of a block that they change.
  test('blocks without counts, or with those of another content, are read', async () => {
    const { db } = await databaseForTest(backend)
    await append(db, 3, 700, 1)
    const asked = { ...WHOLE, deploymentId: 'dep_0', dedupe: 'none' } as const
    const whole = await counted(db, asked, true)
    expect(whole.opened).toBe(0)
    const isFirst = sql`first_at = (select min(first_at) from score_blocks)`
    await db.execute(sql`update score_blocks set counts = null where ${isFirst}`)
    const without = await counted(db, asked, true)
    expect(without).toEqual({ ...whole, opened: 1 })
    await db.execute(sql`update score_blocks set counts = (select counts from score_blocks
      where not ${isFirst} limit 1) where ${isFirst}`)
    expect(await counted(db, asked, true)).toEqual(without)
  })

  test('a reader that needs the applicants gets every block, beside one that takes counts', async () => {
    const { db } = await databaseForTest(backend)
    await append(db, 4, 700, 1)
    const log = new LogReader({ blocks: new BlockReader(db), models: SOURCE })
    const query = { teamId: 'team_1', deploymentId: 'dep_0', fromMs: -Infinity, toMs: Infinity }
    const options = { modelId: 'mod_1', population: 'all', layouts: LAYOUTS, bands: [] } as const
    const [taking, reading] = [new ModelTallies(options), new ModelTallies(options)]
    const { takers, makeReader } = reading
    await scanTogether({ log, query, dedupe: 'none' }, () => [
      { takers, makeReader: taking.makeReader, takeCounts: taking.takeCounts },
      { takers, makeReader },
    ])
    expect(taking.single).toEqual(reading.single)
    const alone = new ModelTallies(options)
    await scanApplicants({ log, query, dedupe: 'none' }, alone.makeReader)
    expect(taking.single).toEqual(alone.single)
  })

  test('the counts of an archived day are in the database, also after an erasure', async () => {
    const log = await ArchivedLog.forTest(backend)
    const db = log.handle.db
    await makeDay(log.handle, DAY)
    const records = Array.from({ length: 100 }, (_, n) =>
      logged(60_000 + n, n === 7 ? { reference: 'A-1' } : {}),
    )
    await new ScoreLogStore(db, {
      compiled: async () => new Map([['mod_1', ARCHIVED.model]]),
    }).append(records)
    const read = (dedupe: Dedupe, hasArchive: boolean) =>
      log.reading(async ({ reader }) => {
        const layouts = cellLayout({ spec: sampleSpec() as never, model: ARCHIVED.model })
        const tallies = new ModelTallies({
          modelId: 'mod_1',
          population: 'all',
          layouts,
          bands: [],
        })
        const { takers, makeReader, takeCounts } = tallies
        const query = { ...SCAN, deploymentId: 'dep_1' }
        await scanTogether({ log: reader, query, dedupe }, () => [
          { takers, makeReader, takeCounts },
        ])
        const { n, meanScore, counts } = tallies.single
        return { n, meanScore, counts }
      }, hasArchive)
    const before = await read('last', true)
    expect(before.n).toBe(100)
    expect(await log.round()).toBe(true)
    expect(await read('none', false)).toEqual(before)
    await expect(read('last', false)).rejects.toThrow('archive')
    await log.reading(({ eraser }) =>
      eraser.erase({ teamId: 'team_1', reference: 'A-1', untilMs: NOW }, new ErasedPlaces()),
    )
    expect(await read('last', false)).toEqual(before)
  })
})
