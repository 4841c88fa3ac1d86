import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { BlockIndexReader } from '../../../../src/log/blocks/block-index.ts'
import { TreeStore } from '../../../../src/log/proof/tree-store.ts'
import { verifyLog } from '../../../../src/log/proof/verify.ts'
import { queryRows } from '../../../../src/platform/db/client.ts'
import {
  ArchivedLog,
  DAY,
  DAY_MS,
  insertModel,
  logged,
  makeDay,
  store,
} from '../../../support/archive/archived-log.ts'
import { backends } from '../../../support/start/databases.ts'
import { openTestDatabase } from '../../../support/start/seeded-database.ts'

const FIRST = 'dt=2026-10-05/part-00000-g1.parquet'
const SECOND = 'dt=2026-10-06/part-00000-g1.parquet'

describe.each(backends)('on $name', (backend) => {
  let log: ArchivedLog
  let close = async () => {}

  // Two archived days of two blocks each, and a block in the database.
  beforeAll(async () => {
    const database = await backend.create()
    const handle = await openTestDatabase(database)
    log = new ArchivedLog(handle)
    close = async () => {
      await handle.close()
      await database.drop()
      log.remove()
    }
    await insertModel(handle)
    for (const fromMs of [0, DAY_MS]) {
      await makeDay(handle, DAY + fromMs)
      await store(
        handle,
        Array.from({ length: 20 }, (_, n) => logged(fromMs + n * 1_000)),
      )
    }
    expect(await log.round()).toBe(true)
    await store(handle, [logged(9 * DAY_MS)])
    cpSync(log.directory, `${log.directory}-kept`, { recursive: true })
    await handle.db.execute(sql`create table kept as select * from score_archive_blocks`)
  })
  afterEach(async () => {
    rmSync(log.directory, { recursive: true, force: true })
    cpSync(`${log.directory}-kept`, log.directory, { recursive: true })
    await log.handle.db.execute(sql`delete from score_archive_blocks`)
    await log.handle.db.execute(sql`insert into score_archive_blocks select * from kept`)
  })
  afterAll(() => close())

  const verified = (hasArchive = true) =>
    log.reading(
      ({ blocks, cells }) =>
        verifyLog({
          blocks,
          models: cells,
          index: new BlockIndexReader(log.handle.db),
          trees: new TreeStore(log.handle.db),
          teamId: 'team_1',
          keptFromMs: DAY,
          checkpoint: null,
          facts: null,
        }),
      hasArchive,
    )

  /** What was found, and which blocks the records no longer show. */
  async function found() {
    const { findings } = await verified()
    const unreadable = findings.filter(({ what }) => what === 'block_unreadable')
    const others = findings.filter(({ what }) => what !== 'block_unreadable')
    return {
      unreadable: unreadable.map(({ message }) => message),
      others: others.map(({ what, sequence }) => `${what} ${sequence}`),
    }
  }

  test('an archived log is as it was logged', async () => {
    const { blocks, applicants, findings } = await verified()
    expect({ blocks, applicants, findings }).toEqual({ blocks: 5, applicants: 41, findings: [] })
  })

  // Whoever hides a day must not end the check of all others with it.
  test.each<{
    readonly what: string
    readonly damage: (log: ArchivedLog) => unknown
    readonly named: string
  }>([
    {
      what: 'is missing',
      damage: ({ directory }) => rmSync(join(directory, FIRST)),
      named: `in the file ${FIRST} can't be read: the file is missing`,
    },
    {
      what: 'is empty',
      damage: ({ directory }) => truncateSync(join(directory, FIRST)),
      named: `in the file ${FIRST} can't be read: the file is damaged`,
    },
    {
      what: 'has other bytes',
      damage: ({ directory }) => writeFileSync(join(directory, FIRST), Buffer.alloc(1_000_000, 7)),
      named: `in the file ${FIRST} can't be read: `,
    },
    {
      what: 'is not the one of its row',
      damage: ({ handle }) =>
        handle.db.execute(sql`update score_archive_blocks set file_key = '../elsewhere'
          where file_key = ${FIRST}`),
      named: "in the file ../elsewhere can't be read: the file is missing",
    },
    {
      what: 'was to be longer than any',
      damage: ({ handle }) =>
        handle.db.execute(sql`update score_archive_blocks set data_bytes = 2000000000
          where file_key = ${FIRST}`),
      named: `in the file ${FIRST} can't be read: the file is damaged`,
    },
    {
      what: 'is that of another day',
      damage: ({ handle }) =>
        handle.db.execute(sql`update score_archive_blocks set file_key = ${SECOND}
          where file_key = ${FIRST}`),
      named: `in the file ${SECOND} can't be read: `,
    },
  ])('a file that $what is a finding, and the others are checked', async ({ damage, named }) => {
    await damage(log)
    const { unreadable, others } = await found()
    expect(unreadable).toEqual([expect.stringContaining(named), expect.stringContaining(named)])
    for (const message of unreadable) {
      expect(message).toMatch(/^block_id \d+ of score_archive_blocks, first_at 2026-10-05T/)
    }
    expect(others).toEqual(['block_missing 0', 'block_missing 1'])
  })

  // The columns are for other programs. To read them would double the reads of a whole archive.
  test('a column of a file that has other bytes is left to the check of the whole file', async () => {
    const file = join(log.directory, FIRST)
    const bytes = readFileSync(file)
    const [block] = await queryRows<{ at: number; sha256: Uint8Array }>(
      log.handle.db,
      sql`select max(b.data_at + b.data_bytes + b.sources_bytes)::float8 as at, f.sha256 from score_archive_blocks b
        join score_archive_files f on f.key = b.file_key where f.key = ${FIRST} group by f.sha256`,
    )
    const { at = 0, sha256 = new Uint8Array() } = block ?? {}
    const hash = () => createHash('sha256').update(readFileSync(file)).digest()
    expect(hash()).toEqual(Buffer.from(sha256))
    const place = at + 1_000
    expect(place).toBeLessThan(bytes.length - 1_000)
    bytes[place] = (bytes[place] ?? 0) ^ 1
    writeFileSync(file, bytes)
    expect((await verified()).findings).toEqual([])
    expect(hash()).not.toEqual(Buffer.from(sha256))
  })

  // A volume that is not mounted is not a log that somebody has changed.
  test('an archive that is away as a whole is an error of its own', async () => {
    const away = { code: 'unavailable' }
    await expect(verified(false)).rejects.toMatchObject(away)
    rmSync(log.directory, { recursive: true })
    await expect(verified()).rejects.toMatchObject(away)
    mkdirSync(log.directory)
    await expect(verified()).rejects.toMatchObject({
      ...away,
      message: expect.stringContaining('is its volume mounted'),
    })
  })
})
