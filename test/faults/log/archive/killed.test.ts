import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ErasedPlaces } from '../../../../src/log/erasure/eraser.ts'
import {
  ArchivedLog,
  DAY,
  DAY_MS,
  insertModel,
  listRequests,
  logged,
  makeDay,
  store,
} from '../../../support/archive/archived-log.ts'
import type { KilledOrder } from '../../../support/archive/archiver-process.ts'
import { dataRoot } from '../../../support/start/data-root.ts'
import { backends, type TestDatabase } from '../../../support/start/databases.ts'
import { ServiceProcess } from '../../../support/start/process.ts'
import { openTestDatabase } from '../../../support/start/seeded-database.ts'

const PROCESS = 'test/support/archive/archiver-process.ts'
/** More than a process has. */
const STEPS_MAX = 72
/** By default only some steps: a process has to start for each. */
const KILLS_ALL = (process.env['SCORELINE_TEST_KILLS'] ?? '') !== ''
const TIMEOUT_MS = KILLS_ALL ? 1_200_000 : 300_000
const RECORDS = 15
const readDay = (number: number) => DAY + number * DAY_MS
/** The day is due, and the next one is not. */
const nowFor = (number: number) => readDay(number) + 4 * DAY_MS + 1
const readReference = (number: number) => `A-${number}`

/** A database and an archive, which one process at a time opens. */
class Place {
  readonly database: TestDatabase
  readonly root = mkdtempSync(join(dataRoot(), 'archive-'))

  constructor(database: TestDatabase) {
    this.database = database
  }

  async open<T>(work: (log: ArchivedLog) => Promise<T>): Promise<T> {
    const handle = await openTestDatabase(this.database)
    try {
      return await work(new ArchivedLog(handle, this.root))
    } finally {
      await handle.close()
    }
  }

  /** @returns whether the process had fewer steps; it is killed otherwise */
  async work(order: Pick<KilledOrder, 'nowMs' | 'killAt' | 'reference'>): Promise<boolean> {
    const { databaseUrl, dataDir } = this.database
    const whole: KilledOrder = {
      databaseUrl,
      dataDir,
      url: pathToFileURL(join(this.root, 'store')).href,
      directory: join(this.root, 'work'),
      ...order,
    }
    const process = ServiceProcess.start({}, PROCESS, [JSON.stringify(whole)])
    const code = await process.exit()
    expect(process.output).toBe(code === null ? '' : 'done\n')
    return code !== null
  }
}

/** Ids of all requests in database and archive. */
const listIds = async (log: ArchivedLog) =>
  (await log.reading(listRequests)).map(({ requestId }) => requestId).sort()

/** The lease of a killed process is over. */
const endLease = ({ handle }: ArchivedLog) =>
  handle.db.execute(sql`update score_archive set leased_until = now() - interval '1 second'`)

describe.each(backends)('on $name', (backend) => {
  /** Steps from one kill to the next. */
  const step = KILLS_ALL ? 1 : backend.name === 'PostgreSQL' ? 7 : 11

  async function started(): Promise<{ place: Place; ids: string[] }> {
    const database = await backend.create()
    const place = new Place(database)
    onTestFinished(async () => {
      await database.drop()
      rmSync(place.root, { recursive: true, force: true })
    })
    const ids = await place.open(async ({ handle }) => {
      await insertModel(handle)
      const all: string[] = []
      for (let number = 0; number <= STEPS_MAX / step; number++) {
        await makeDay(handle, readDay(number))
        const records = Array.from({ length: RECORDS }, (_, n) =>
          logged(number * DAY_MS + 1_000 * n, {
            reference: n % 5 === 0 ? readReference(number) : '',
          }),
        )
        await store(handle, records)
        all.push(...records.map(({ requestId }) => requestId))
      }
      return all.sort()
    })
    return { place, ids }
  }

  // A day is in the database, in the archive, or in both for a moment: none may be read twice.
  test(
    'a process that is killed before any step loses nothing and doubles nothing',
    async () => {
      const { place, ids } = await started()
      let number = 0
      for (let killAt = 1; ; killAt += step) {
        const isDone = await place.work({ nowMs: nowFor(number), killAt, reference: null })
        if (isDone) break
        await place.open(async (log) => {
          expect(await listIds(log), `killed before step ${killAt}`).toEqual(ids)
          await endLease(log)
          log.nowMs = nowFor(number)
          expect(await log.round(), `after a kill before step ${killAt}`).toBe(true)
          expect(await listIds(log)).toEqual(ids)
          const day = new Date(readDay(number)).toISOString().slice(0, 10)
          expect(log.files(day)).toEqual(['_manifest.json', 'part-00000-g1.parquet'])
        })
        number++
      }
      expect(number * step).toBeGreaterThan(15)
    },
    TIMEOUT_MS,
  )

  test(
    'an erasure that is killed before any step can be repeated',
    async () => {
      const { place, ids } = await started()
      await place.open(async (log) => {
        log.nowMs = nowFor(STEPS_MAX)
        expect(await log.round()).toBe(true)
      })
      let number = 0
      for (let killAt = 1; ; killAt += step) {
        const reference = readReference(number)
        const isDone = await place.work({ nowMs: nowFor(STEPS_MAX), killAt, reference })
        if (isDone) break
        await place.open(async (log) => {
          expect(await listIds(log), `killed before step ${killAt}`).toEqual(ids)
          await endLease(log)
          const erasure = { teamId: 'team_1', reference, untilMs: nowFor(STEPS_MAX) }
          await log.reading(({ eraser }) => eraser.erase(erasure, new ErasedPlaces()))
          const requests = await log.reading(listRequests)
          expect(requests.map(({ requestId }) => requestId).sort()).toEqual(ids)
          expect(requests.filter((request) => request.reference === reference)).toEqual([])
          const day = new Date(readDay(number)).toISOString().slice(0, 10)
          expect(log.files(day)).toEqual(['_manifest.json', 'part-00000-g2.parquet'])
        })
        number++
      }
      expect(number * step).toBeGreaterThan(15)
    },
    TIMEOUT_MS,
  )
})
