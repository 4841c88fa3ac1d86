import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DayStore } from '../../../../src/log/archive/day-store.ts'
import { IdentityStore } from '../../../../src/log/archive/identity-store.ts'
import { ArchiveLease, LeaseLostError, LeaseStore } from '../../../../src/log/archive/lease.ts'
import { LeftoverStore } from '../../../../src/log/archive/leftover-store.ts'
import { ManifestStore } from '../../../../src/log/archive/manifest-store.ts'
import { systemClock } from '../../../../src/platform/clock.ts'
import { type DatabaseHandle, queryRows } from '../../../../src/platform/db/client.ts'
import { DAY, DAY_MS } from '../../../support/archive/archived-log.ts'
import { firstBackend, type TestDatabase } from '../../../support/start/databases.ts'
import { openTestDatabase } from '../../../support/start/seeded-database.ts'

const KEY = 'dt=2026-10-05/part-00000-g1.parquet'
/** More blocks than one statement deletes. */
const BLOCKS = 10_001
const NAME = '2026-10-05'

let database: TestDatabase
let handle: DatabaseHandle

// The manifest of a day with one file, whose work a process has.
beforeEach(async () => {
  database = await firstBackend.create()
  handle = await openTestDatabase(database)
  const { db } = handle
  await db.execute(sql`insert into score_archive (name, archive_id, holder, leased_until)
    values ('log', 'archive', 'other', now() + interval '1 hour'),
      (${NAME}, '', 'other', now() + interval '1 hour')`)
  await db.execute(sql`insert into score_archive_files (key, day, kind, number, generation,
      row_count, records, applicants, bytes, sha256, row_groups, state, is_listed, archived_at)
    values (${KEY}, '2026-10-05Z', 'part', 0, 1, 1, 1, 1, 1, '\\x00', '[]', 'live', true, now())`)
})
afterEach(async () => {
  await handle.close()
  await database.drop()
})

const facts = async () =>
  queryRows(
    handle.db,
    sql`select state, is_listed, cleanings, (select owners::text from score_archive
        where name = 'log') as owners,
      (select count(*)::integer from score_archive_blocks) as blocks from score_archive_files`,
  )

// A process that stood still for an hour goes on where it was: in the middle of a day.
test('who has lost a lease changes nothing any more', async () => {
  const { db } = handle
  const lost = { name: NAME, holder: 'mine', check: () => undefined }
  const own = { archiveId: 'archive', owners: [] }
  const manifest = new ManifestStore(db)
  const leftovers = new LeftoverStore(db)
  const days = new DayStore(db)
  const slot = { dayMs: DAY, kind: 'part', number: 0 } as const
  const content = { bytes: 1, sha256: Buffer.from([1]) }
  const file = {
    name: { ...slot, generation: 1 },
    key: KEY,
    rowCount: 1,
    records: 1,
    applicants: 1,
    ...content,
    rowGroups: [],
    places: [],
  }
  const day = { dayMs: DAY, isStray: true }
  const identity = new IdentityStore(db)
  const before = await facts()
  const changes: readonly (() => Promise<unknown>)[] = [
    () => identity.addOwner({ ...lost, name: 'log' }, own, 'token'),
    () => identity.addOwner({ ...lost, name: 'log' }, own, 'token', []),
    () => manifest.begin(lost, slot, content),
    () => manifest.expire(lost, DAY, DAY + DAY_MS),
    () => leftovers.setListed(lost, DAY),
    () => leftovers.setGone(lost, KEY),
    () => leftovers.setForeign(lost, KEY),
    () => leftovers.forget({ ...lost, name: 'log' }, DAY + DAY_MS),
    () => leftovers.giveUp(lost, DAY),
    () => days.switchTo(lost, day, [file]),
    () => days.replaceFile(lost, KEY, file, []),
  ]
  for (const change of changes) {
    await expect(change(), String(change)).rejects.toThrow(LeaseLostError)
  }
  expect(await facts()).toEqual(before)
  // Not even its own lease, once it is over.
  await db.execute(sql`update score_archive set holder = 'mine', leased_until = now()`)
  await expect(manifest.expire(lost, DAY, DAY + DAY_MS)).rejects.toThrow(LeaseLostError)
})

// One statement over millions of rows would hold its lock for minutes.
test('a day leaves the index in portions, and the manifest after the last one', async () => {
  const { db } = handle
  await db.execute(sql`insert into score_archive_blocks (first_at, last_at, id_from, id_to, block_id,
      records, applicants, deployments, filter_sum, index_sum, codec, raw_bytes, checksum, file_key,
      data_at, data_bytes, sources_bytes)
    select at, at, at, at, n, 1, 1, '{}', 0, '', 0, 1, 1, ${KEY}, n, 1, 1
    from (select n, '2026-10-05Z'::timestamptz + n * interval '1 second' as at
      from generate_series(1, ${BLOCKS}::integer) as n) as blocks`)
  await db.execute(sql`update score_archive set holder = null`)
  const manifest = new ManifestStore(db)
  const lease = new ArchiveLease(new LeaseStore(db), systemClock)
  const seen = await lease.hold(NAME, async (held) => {
    const isOut = await manifest.expire(held, DAY, DAY + DAY_MS)
    const between = await facts()
    return [isOut, between, await manifest.expire(held, DAY, DAY + DAY_MS), await facts()]
  })
  expect(seen).toEqual([
    false,
    [expect.objectContaining({ state: 'live', blocks: 1 })],
    true,
    [expect.objectContaining({ state: 'old', blocks: 0 })],
  ])
})
