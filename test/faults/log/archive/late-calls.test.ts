import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { DayStore } from '../../../../src/log/archive/day-store.ts'
import { ErasedPlaces } from '../../../../src/log/erasure/eraser.ts'
import { ObjectStoreError } from '../../../../src/platform/object-store/object-store.ts'
import {
  ArchivedLog,
  type ArchiveFaults,
  listRequests,
  logged,
  NOW,
} from '../../../support/archive/archived-log.ts'
import { changed, Halt, withFiles } from '../../../support/archive/faults.ts'
import { firstBackend } from '../../../support/start/databases.ts'

const RECORDS = Array.from({ length: 20 }, (_, n) =>
  logged(n * 1_000, { reference: n === 3 ? 'A-1' : `B-${n}` }),
)
const ERASURE = { teamId: 'team_1', reference: 'A-1', untilMs: NOW }
const KEEP_MS = 900_000
const FIRST = 'part-00000-g1.parquet'
const SECOND = 'part-00000-g2.parquet'
const MANIFEST = '_manifest.json'

const started = () => ArchivedLog.forTest(firstBackend, RECORDS)

const away = () => new ObjectStoreError('away', 'no answer')
const makeFile = (log: ArchivedLog, name: string) => join(log.directory, 'dt=2026-10-05', name)
const erase = (log: ArchivedLog, keepMs: number) =>
  log.reading(({ eraser }) => eraser.erase(ERASURE, new ErasedPlaces()), true, { keepMs })

/** A process whose switch of a day always fails. */
const FAILING: ArchiveFaults = {
  guarded: (part) =>
    part instanceof DayStore
      ? changed(part, { switchTo: () => Promise.reject(new Error('it fails')) } as object)
      : part,
}

/** A round that has stored a file and failed before it was used. */
async function failedRound(log: ArchivedLog): Promise<void> {
  const { archiver } = await log.faulty(FAILING)
  expect(await archiver.run()).toBe(false)
  expect(log.files()).toEqual([FIRST])
}

// A process that stood still for a minute goes on where it was, whoever works by then.
test('a delete that ends late takes no file that readers need', async () => {
  const log = await started()
  const before = await log.reading(listRequests)
  await failedRound(log)
  await log.age(2)
  const halt = new Halt()
  const slow = await log.faulty({
    objects: (objects) =>
      withFiles(objects, {
        delete: async (remove, key) => {
          await halt.here()
          await remove(key)
        },
      }),
  })
  const running = slow.archiver.run()
  await halt.reached
  await log.endLeases()
  expect(await log.round()).toBe(true)
  expect(log.files()).toEqual([MANIFEST, SECOND])
  halt.end()
  await running
  expect(log.files()).toEqual([MANIFEST, SECOND])
  expect(await log.reading(listRequests)).toEqual(before)
})

// The answer of a store can be lost for good, and its work be done hours later.
test('a file that is put late changes nothing, and is deleted again', async () => {
  const log = await started()
  const before = await log.reading(listRequests)
  const late: (() => Promise<unknown>)[] = []
  const { archiver } = await log.faulty({
    objects: (objects) =>
      withFiles(objects, {
        put: async (put, key, source) => {
          const bytes: Uint8Array[] = []
          for await (const chunk of source.open()) bytes.push(chunk)
          late.push(() =>
            put(key, {
              ...source,
              open: async function* () {
                yield* bytes
              },
            }),
          )
          throw away()
        },
      }),
  })
  expect(await archiver.run()).toBe(false)
  await log.age(2)
  expect(await log.round()).toBe(true)
  expect(log.files()).toEqual([MANIFEST, SECOND])
  for (const end of late) await end()
  expect(log.files()).toEqual([MANIFEST, FIRST, SECOND])
  expect(await log.reading(listRequests)).toEqual(before)
  await log.round()
  expect(log.files()).toContain(FIRST)
  await log.age(2)
  await log.round()
  expect(log.files()).toEqual([MANIFEST, SECOND])
})

/** An erasure, and then the standby of a failover that has got its file but not its switch. */
async function failedOver(): Promise<ArchivedLog> {
  const log = await started()
  await log.round()
  const { db } = log.handle
  await db.execute(sql`create table files_before as select * from score_archive_files`)
  await db.execute(sql`create table blocks_before as select * from score_archive_blocks`)
  await erase(log, KEEP_MS)
  expect(log.files()).toEqual([MANIFEST, FIRST, SECOND])
  await db.execute(sql`delete from score_archive_blocks`)
  await db.execute(sql`insert into score_archive_blocks select * from blocks_before`)
  await db.execute(sql`delete from score_archive_files where generation = 1`)
  await db.execute(sql`insert into score_archive_files select * from files_before`)
  await db.execute(sql`update score_archive_files set state = 'writing', records = 0
    where generation = 2`)
  return log
}

test('a failover that has lost an erasure has lost no score', async () => {
  const log = await failedOver()
  const ids = RECORDS.map(({ requestId }) => requestId).sort()
  const listIds = async () =>
    (await log.reading(listRequests)).map(({ requestId }) => requestId).sort()
  expect(await listIds()).toEqual(ids)
  for (let rounds = 0; rounds < 2; rounds++) {
    await log.age(2)
    expect(await log.round({ keepMs: KEEP_MS })).toBe(true)
  }
  expect(log.files()).toEqual([MANIFEST, FIRST])
  expect(await listIds()).toEqual(ids)
  await erase(log, KEEP_MS)
  await log.age(1)
  expect(await log.round({ keepMs: KEEP_MS })).toBe(true)
  expect(log.files()).toEqual([MANIFEST, 'part-00000-g3.parquet'])
  expect(await listIds()).toEqual(ids)
})

// It may be the only copy.
test('another generation stays while the store lacks the one that readers need', async () => {
  const log = await failedOver()
  rmSync(makeFile(log, FIRST))
  for (let rounds = 0; rounds < 2; rounds++) {
    await log.age(2)
    await log.round({ keepMs: KEEP_MS })
  }
  expect(existsSync(makeFile(log, SECOND))).toBe(true)
  expect(log.lines.map(({ message }) => message)).toContain(
    'the archive lacks a file that readers need: other generations of it are kept',
  )
})

// Several databases can share a bucket by mistake.
test('an object of somebody else is kept after a round that failed', async () => {
  const log = await started()
  const { archiver } = await log.faulty({
    objects: (objects) =>
      withFiles(objects, {
        put: async () => {
          writeFileSync(makeFile(log, FIRST), 'of somebody else')
          throw away()
        },
      }),
  })
  mkdirSync(join(log.directory, 'dt=2026-10-05'), { recursive: true })
  expect(await archiver.run()).toBe(false)
  await log.age(2)
  expect(await log.round()).toBe(true)
  expect(readFileSync(makeFile(log, FIRST), 'utf8')).toBe('of somebody else')
  expect(log.lines.map(({ facts }) => facts['file'])).toContain(`dt=2026-10-05/${FIRST}`)
  expect(await log.reading(listRequests)).toHaveLength(RECORDS.length)
})

// A file of the same size could be one of another database.
test('a file that nobody has compared is deleted only if it has its content', async () => {
  const log = await started()
  await failedRound(log)
  const bytes = readFileSync(makeFile(log, FIRST))
  const other = Buffer.from(bytes)
  other[100] = (other[100] ?? 0) ^ 1
  writeFileSync(makeFile(log, FIRST), other)
  await log.age(2)
  expect(await log.round()).toBe(true)
  expect(readFileSync(makeFile(log, FIRST)).equals(other)).toBe(true)
})
