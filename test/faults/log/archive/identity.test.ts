import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { ErasedPlaces } from '../../../../src/log/erasure/eraser.ts'
import { queryRows } from '../../../../src/platform/db/client.ts'
import {
  ArchivedLog,
  listRequests,
  logged,
  NOW,
  store,
} from '../../../support/archive/archived-log.ts'
import { withFiles } from '../../../support/archive/faults.ts'
import { firstBackend } from '../../../support/start/databases.ts'

const RECORDS = Array.from({ length: 12 }, (_, n) => logged(n * 1_000, { reference: 'A-1' }))
const ERASURE = { teamId: 'team_1', reference: 'A-1', untilMs: NOW }

const started = () => ArchivedLog.forTest(firstBackend, RECORDS)

const readIdentity = (log: ArchivedLog) => join(log.directory, '_archive.json')
const readOwners = async ({ handle }: ArchivedLog) => {
  const [row] = await queryRows<{ owners: string }>(
    handle.db,
    sql`select owners::text as owners from score_archive where name = 'log'`,
  )
  return JSON.parse(row?.owners ?? '[]') as string[]
}
const setOwners = ({ handle }: ArchivedLog, owners: readonly string[]) =>
  handle.db.execute(sql`update score_archive set owners = ${JSON.stringify(owners)}::text::json
    where name = 'log'`)
const reasons = (log: ArchivedLog) => log.lines.map(({ facts }) => facts['reason'])

// It would write to the directory below the mount, and drop the only other copy of the day.
test('a day stays in the database when its volume goes while the round runs', async () => {
  const log = await started()
  const { archiver } = await log.faulty({
    objects: (objects) =>
      withFiles(objects, {
        put: async (put, key, source) => {
          const result = await put(key, source)
          rmSync(readIdentity(log))
          return result
        },
      }),
  })
  expect(await archiver.run()).toBe(false)
  expect(await log.reading(listRequests, false)).toHaveLength(RECORDS.length)
})

// Restored for a test, with the same variables: it must not touch the files of the original.
test('a copy of the database neither deletes nor writes a file', async () => {
  const log = await started()
  await log.round()
  const asCopied = await readOwners(log)
  await log.round()
  await log.round()
  const asNow = await readOwners(log)
  const files = log.files()
  const identity = readFileSync(readIdentity(log), 'utf8')

  await setOwners(log, asCopied)
  await store(log.handle, [logged(23 * 3_600_000)])
  expect(await log.round({ retentionDays: 2 })).toBe(false)
  expect(reasons(log).at(-1)).toContain('another copy of this database')
  const erasing = log.reading(({ eraser }) => eraser.erase(ERASURE, new ErasedPlaces()))
  await expect(erasing).rejects.toMatchObject({ code: 'unavailable' })
  expect(log.files()).toEqual(files)
  expect(readFileSync(readIdentity(log), 'utf8')).toBe(identity)
  expect(await log.reading(listRequests)).toHaveLength(RECORDS.length + 1)

  await setOwners(log, asNow)
  expect(await log.round()).toBe(true)
})

test('a copy that is to go on is given the token of the archive by hand', async () => {
  const log = await started()
  await log.round()
  await setOwners(log, ['of another time'])
  expect(await log.round()).toBe(false)
  const { owner } = JSON.parse(readFileSync(readIdentity(log), 'utf8')) as { owner: string }
  await setOwners(log, [owner])
  expect(await log.round()).toBe(true)
})

// An asynchronous standby can lack the last commit.
test('a failover that has lost the last token goes on', async () => {
  const log = await started()
  await log.round()
  await log.round()
  await setOwners(log, (await readOwners(log)).slice(0, -1))
  expect(await log.round()).toBe(true)
})

// It would overwrite what only that version can read.
test('an archive of another version is neither written to nor deleted', async () => {
  const log = await started()
  await log.round()
  const identity = JSON.parse(readFileSync(readIdentity(log), 'utf8')) as object
  const text = `${JSON.stringify({ ...identity, version: 2 })}\n`
  writeFileSync(readIdentity(log), text)
  expect(await log.round()).toBe(false)
  expect(reasons(log).at(-1)).toContain('an archive of another version of Scoreline')
  expect(readFileSync(readIdentity(log), 'utf8')).toBe(text)
})
