import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { ErasedPlaces } from '../../../../src/log/erasure/eraser.ts'
import type { OpenLogReader } from '../../../../src/log/reading/open-reader.ts'
import { queryRows } from '../../../../src/platform/db/client.ts'
import { DatabaseClock } from '../../../../src/platform/db/database-clock.ts'
import { MetricRegistry } from '../../../../src/platform/metrics/registry.ts'
import {
  ALL_DAYS,
  ArchivedLog,
  batch,
  DAY,
  DAY_MS,
  type Logged,
  listRequests,
  logged,
  NOW,
  SCAN,
  store,
} from '../../../support/archive/archived-log.ts'
import { backends } from '../../../support/start/databases.ts'

const HOUR_MS = 3_600_000
/** Requests of three hours, and batches with ids of each kind. */
const RECORDS: readonly Logged[] = [
  ...Array.from({ length: 60 }, (_, n) =>
    logged(n * 180_000, { reference: n % 7 === 3 ? 'A-1' : `B-${n}`, latencyUs: 100 + n }),
  ),
  batch(4 * HOUR_MS, ['A-1', 'x', null, 7, '\ud800']),
  batch(4 * HOUR_MS + 1, []),
]

describe.each(backends)('on $name', (backend) => {
  const started = (records = RECORDS) => ArchivedLog.forTest(backend, records)

  const blocksLeft = async ({ handle }: ArchivedLog) =>
    (await queryRows(handle.db, sql`select 1 from score_blocks`)).length
  const listIds = async (log: ArchivedLog) =>
    (await log.reading(listRequests)).map(({ requestId }) => requestId)

  /** What every kind of reader says of the log. */
  async function seenBy(open: OpenLogReader) {
    const { reader, blocks } = open
    const requests = await listRequests(open)
    const found: unknown[] = []
    for (const { requestId } of requests) found.push(await reader.find(requestId))
    const searched: unknown[] = []
    const search = { ...SCAN, reference: 'A-1', before: null }
    for await (const request of reader.search(search)) searched.push(request)
    const columns: unknown[] = []
    for await (const portion of reader.columns(SCAN)) {
      for (const { models, wanted } of portion) {
        columns.push([...wanted], ...models.map(({ scores, pds }) => [[...scores], [...pds]]))
      }
    }
    const cells: unknown[] = []
    for await (const portion of reader.cells(SCAN)) {
      for (const { models } of portion) cells.push(models.map((model) => model.cells))
    }
    const stored: unknown[] = []
    for await (const { archivedIn: _, ...block } of blocks.blocksIn({
      ...ALL_DAYS,
      order: 'oldest',
    })) {
      stored.push(block)
    }
    return { requests, found, searched, columns, cells, stored }
  }

  // What an auditor reads in two years is what was answered, to the bit.
  test('an archived day reads as before, by every reader', async () => {
    const log = await started()
    const before = await log.reading(seenBy)
    expect(before.requests).toHaveLength(RECORDS.length)
    expect(before.searched.length).toBeGreaterThan(5)

    expect(await log.round()).toBe(true)
    expect(await blocksLeft(log)).toBe(0)
    expect(log.files()).toEqual(['_manifest.json', 'part-00000-g1.parquet'])
    expect(await log.reading(seenBy)).toEqual(before)
  })

  test('a further round changes nothing', async () => {
    const log = await started()
    await log.round()
    const path = join(log.directory, 'dt=2026-10-05', 'part-00000-g1.parquet')
    const bytes = readFileSync(path)
    expect(await log.round()).toBe(true)
    expect(readFileSync(path).equals(bytes)).toBe(true)
    expect(log.files()).toHaveLength(2)
  })

  test('a day stays while it is young, and while a spool may hold more of it', async () => {
    const log = await started()
    log.nowMs = DAY + 4 * DAY_MS - 1
    await log.round()
    expect(log.files()).toEqual([])
    const at = new Date(DAY + HOUR_MS).toISOString()
    await log.handle.db.execute(sql`insert into spool_cursors
      (spool_id, segment, "offset", updated_at) values ('a', 1, 0, ${at})`)
    log.nowMs = DAY + 5 * DAY_MS - 1
    await log.round()
    expect(log.files()).toEqual([])
    log.nowMs++
    await log.round()
    expect(log.files()).toHaveLength(2)
  })

  test('what is drained late goes into a further file', async () => {
    const log = await started()
    await log.round()
    await store(log.handle, [logged(23 * HOUR_MS), logged(23 * HOUR_MS + 5)])
    expect(await listIds(log)).toHaveLength(RECORDS.length + 2)
    await log.round()
    expect(await blocksLeft(log)).toBe(0)
    expect(log.files()).toEqual([
      '_manifest.json',
      'late-00000-g1.parquet',
      'part-00000-g1.parquet',
    ])
    expect(new Set(await listIds(log)).size).toBe(RECORDS.length + 2)
    const manifest = JSON.parse(
      readFileSync(join(log.directory, 'dt=2026-10-05', '_manifest.json'), 'utf8'),
    )
    expect(manifest.files.map(({ requests }: { requests: number }) => requests)).toEqual([
      2,
      RECORDS.length,
    ])
  })

  // Copies of an erased reference in old files are the known fault of archives.
  test('an erased reference leaves the archive, and nothing else does', async () => {
    const log = await started()
    const without = (requests: Awaited<ReturnType<typeof listRequests>>) =>
      requests.map((request) => ({
        ...request,
        reference: request.reference === 'A-1' ? null : request.reference,
        rows: request.rows.map((row) => (row.id === 'A-1' ? { ...row, id: null } : row)),
      }))
    const before = await log.reading(listRequests)
    await log.round()
    const erased = new ErasedPlaces()
    const erasure = { teamId: 'team_1', reference: 'A-1', untilMs: NOW }
    await log.reading(({ eraser }) => eraser.erase(erasure, erased))
    expect([erased.places, erased.requests]).toEqual([10, 10])
    expect(await log.reading(listRequests)).toEqual(without(before))
    expect(log.files()).toEqual(['_manifest.json', 'part-00000-g2.parquet'])
    const again = new ErasedPlaces()
    await log.reading(({ eraser }) => eraser.erase(erasure, again))
    expect(again.places).toBe(0)
    expect(log.files()).toHaveLength(2)
  })

  test('a day beyond the retention leaves the archive', async () => {
    const log = await started()
    await log.round()
    log.nowMs = DAY + 30 * DAY_MS
    await log.round({ retentionDays: 31 })
    expect(log.files()).toHaveLength(2)
    // The clock of the replica that answered may have been years behind.
    await log.round({ retentionDays: 29 })
    expect(log.files()).toHaveLength(2)
    await log.ageFiles()
    await log.round({ retentionDays: 29 })
    expect(log.files()).toEqual([])
    expect(await listIds(log)).toEqual([])
  })

  // Each request can be in several blocks: those that are whole still answer.
  test.each([
    { what: 'damaged', damage: (path: string) => writeFileSync(path, Buffer.alloc(1_000_000, 7)) },
    { what: 'missing', damage: (path: string) => rmSync(path) },
  ])('a request is found beside a file that is $what', async ({ damage }) => {
    const log = await started(RECORDS.slice(0, 10))
    await log.round()
    const late = logged(1_000)
    await store(log.handle, [late])
    damage(join(log.directory, 'dt=2026-10-05', 'part-00000-g1.parquet'))
    const find = (id: string | undefined) => log.reading(({ reader }) => reader.find(id ?? ''))
    const { requestId } = late
    expect(await find(requestId)).toMatchObject({ requestId })
    const lost = find(RECORDS[1]?.requestId)
    await expect(lost).rejects.toMatchObject({ code: 'unavailable' })
  })

  // It would delete the only copy of days that others read.
  test('a process whose clock is wrong deletes nothing', async () => {
    const log = await started(RECORDS.slice(0, 10))
    await log.round()
    const ahead = { epochMs: () => Date.now() + 800 * DAY_MS }
    log.sharedClock = new DatabaseClock(log.handle.db, ahead)
    expect(await log.round({ retentionDays: 20 })).toBe(false)
    expect(log.lines.at(-1)?.facts['reason']).toContain('the clocks of this machine')
    expect(log.files()).toHaveLength(2)
    log.sharedClock = new DatabaseClock(log.handle.db, { epochMs: () => Date.now() + 600_000 })
    expect(await log.round()).toBe(true)
    expect(await listIds(log)).toHaveLength(10)
  })

  // A reader that left the day out would say that scores were never given.
  test('a day whose archive is away is unavailable, not empty', async () => {
    const log = await started()
    await log.round()
    await expect(log.reading(listRequests, false)).rejects.toMatchObject({ code: 'unavailable' })
    const [first] = RECORDS
    const find = ({ reader }: OpenLogReader) => reader.find(first?.requestId ?? '')
    await expect(log.reading(find, false)).rejects.toMatchObject({ code: 'unavailable' })
    renameSync(log.directory, `${log.directory}-away`)
    await expect(log.reading(find)).rejects.toMatchObject({ code: 'unavailable' })
    renameSync(`${log.directory}-away`, log.directory)
    expect(await log.reading(find)).not.toBe(null)
  })

  test.each([
    {
      what: 'is cut off',
      damage: (path: string) => writeFileSync(path, 'PAR1'),
      found: 'damaged',
      error: { code: 'unavailable' },
    },
    {
      what: 'has other bytes',
      damage: (path: string) => writeFileSync(path, Buffer.alloc(1_000_000, 7)),
      found: 'damaged',
      error: { code: 'unavailable' },
    },
    {
      what: 'is missing',
      damage: (path: string) => rmSync(path),
      found: 'missing',
      error: { code: 'unavailable' },
    },
  ])('a file that $what is noticed, counted and named', async ({ damage, found, error }) => {
    const log = await started(RECORDS.slice(0, 10))
    await log.round()
    damage(join(log.directory, 'dt=2026-10-05', 'part-00000-g1.parquet'))
    const metrics = new MetricRegistry()
    await expect(log.reading(listRequests, true, { metrics })).rejects.toMatchObject(error)
    const text = await metrics.text()
    for (const reason of ['missing', 'damaged']) {
      const count = reason === found ? 1 : 0
      expect(text).toContain(`scoreline_archive_lost_files_total{reason="${reason}"} ${count}\n`)
    }
    const file = 'dt=2026-10-05/part-00000-g1.parquet'
    expect(log.lines.at(-1)?.facts).toEqual({ file, reason: found })
  })

  // An empty directory where a volume is not mounted would take the only copy of a day.
  test('a directory that is not the archive gets no day', async () => {
    const log = await started()
    await log.round()
    await store(log.handle, [logged(23 * HOUR_MS)])
    rmSync(join(log.directory, '_archive.json'))
    expect(await log.round()).toBe(false)
    writeFileSync(join(log.directory, '_archive.json'), '{"version":1,"archive":"another"}\n')
    expect(await log.round()).toBe(false)
    expect(await blocksLeft(log)).toBe(1)
    expect(log.lines.map(({ facts }) => facts['reason'])).toEqual([
      undefined,
      expect.stringContaining('is its volume mounted'),
      expect.stringContaining('of another database'),
    ])
  })

  // After a restored backup the store can have files that this database does not know.
  test('an object that the manifest does not know is kept', async () => {
    const log = await started()
    const other = await started(RECORDS.slice(0, 10))
    await other.round()
    const name = join('dt=2026-10-05', 'part-00000-g1.parquet')
    const foreign = readFileSync(join(other.directory, name))
    renameSync(join(other.directory, 'dt=2026-10-05'), join(log.directory, 'dt=2026-10-05'))
    expect(await log.round()).toBe(true)
    expect(readFileSync(join(log.directory, name)).equals(foreign)).toBe(true)
    expect(log.files()).toContain('part-00000-g2.parquet')
    expect(await listIds(log)).toHaveLength(RECORDS.length)
  })

  // Two processes that moved the same day would each write its files.
  test('one process at a time works on the archive', async () => {
    const log = await started()
    const { db } = log.handle
    await log.round()
    await store(log.handle, [logged(23 * HOUR_MS)])
    await db.execute(sql`update score_archive set holder = 'another',
      leased_until = now() + interval '1 minute'`)
    const other = await log.open()
    expect(await other.archiver?.run()).toBe(true)
    // It did nothing, and must not look as if it had.
    expect(other.archiver?.lastSuccessSec).toBe(0)
    await other.close()
    expect(await blocksLeft(log)).toBe(1)
    await db.execute(sql`update score_archive set leased_until = now() - interval '1 second'`)
    await log.round()
    expect(await blocksLeft(log)).toBe(0)
  })
})
