import { sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { DamagedBlocks } from '../../../src/log/blocks/damaged-block.ts'
import { BlockTables } from '../../../src/log/blocks/upkeep/block-tables.ts'
import { IndexUpkeep } from '../../../src/log/blocks/upkeep/index-upkeep.ts'
import { ErasedPlaces } from '../../../src/log/erasure/eraser.ts'
import { openLogReader } from '../../../src/log/reading/open-reader.ts'
import { makeModels } from '../../../src/log/reading/stored-models.ts'
import { queryRows } from '../../../src/platform/db/client.ts'
import {
  ArchivedLog,
  DAY,
  logged,
  makeDay,
  NOW,
  SCAN,
  store,
} from '../../support/archive/archived-log.ts'
import { backends } from '../../support/start/databases.ts'

const RECORDS = 10
const REFERENCES = Array.from({ length: RECORDS }, (_, n) => `R-${n}`)
const TABLES = ['score_blocks', 'score_archive_blocks'] as const
/** Columns that a reader trusts before it has read the block. */
const COLUMNS = [
  ['last_at', "last_at - interval '1 day'"],
  ['id_from', "id_from + interval '1 day'"],
  ['id_to', "id_to - interval '1 day'"],
  ['records', 'records + 1'],
  ['deployments', 'array[1, 2]::integer[]'],
  ['filter_sum', 'filter_sum # 1'],
  ['index_sum', 'set_byte(index_sum, 0, get_byte(index_sum, 0) # 1)'],
] as const

// A damaged column that chooses blocks would hide what they hold: no answer would say that
// something is missing.
describe.each(backends)('damaged index columns on $name', (backend) => {
  /** Ten requests in a block of a day, in the database or in the archive. */
  async function filled(table: (typeof TABLES)[number]) {
    const log = await ArchivedLog.forTest(backend)
    await makeDay(log.handle, DAY)
    const records = REFERENCES.map((reference, n) => logged(60_000 * n, { reference }))
    await store(log.handle, records)
    if (table === 'score_archive_blocks') {
      await log.handle.db.execute(
        sql`update score_blocks set drained_at = drained_at - interval '9 days'`,
      )
      expect(await log.round()).toBe(true)
    }
    const archive = await log.open()
    onTestFinished(() => archive.close())
    const damaged = new DamagedBlocks()
    const { db } = log.handle
    const reader = openLogReader({
      db,
      guarded: (one) => one,
      archive: archive.forReaders.archive,
      damaged,
    })
    const failures: unknown[] = []
    const upkeep = new IndexUpkeep({
      db,
      blocks: reader.blocks,
      damaged,
      onMended: () => undefined,
      onFailed: (error) => failures.push(error),
    })
    const rows = () =>
      queryRows(db, sql`select * from ${sql.identifier(table)} order by first_at, block_id`)
    const before = await rows()
    expect(before).toHaveLength(1)
    return {
      ...reader,
      db,
      damaged,
      upkeep,
      change: (column: string, value: string) =>
        db.execute(sql.raw(`update ${table} set ${column} = ${value}`)),
      search: async (reference: string) => {
        const found = []
        for await (const one of reader.reader.search({ ...SCAN, reference, before: null })) {
          found.push(one)
        }
        return found
      },
      requestId: records[3]?.requestId ?? '',
      mend: async () => {
        await upkeep.run()
        expect(failures).toEqual([])
        expect(damaged.list()).toEqual([])
        expect(await rows()).toEqual(before)
      },
    }
  }

  test.each(TABLES)(
    'a search finds each reference whatever bit of a filter in %s is gone',
    async (table) => {
      const { change, search, damaged, mend } = await filled(table)
      await change(
        'reference_filter',
        "decode(repeat('00', octet_length(reference_filter)), 'hex')",
      )
      for (const reference of REFERENCES) expect(await search(reference)).toHaveLength(1)
      expect(damaged.counts()).toMatchObject({ filter: 1, index: 0 })
      await mend()
      expect(await search('R-1')).toHaveLength(1)
    },
  )

  test.each(TABLES)('an erasure reaches what a damaged filter in %s hides', async (table) => {
    const { change, search, eraser, damaged } = await filled(table)
    await change('reference_filter', 'set_byte(reference_filter, 2, 0)')
    for (const reference of REFERENCES) {
      const erased = new ErasedPlaces()
      await eraser.erase({ teamId: 'team_1', reference, untilMs: NOW }, erased)
      expect(erased.places, reference).toBe(1)
      expect(await search(reference)).toEqual([])
      // The block was written anew, with a filter of its own.
      expect(damaged.counts().filter).toBe(1)
    }
  })

  test.each(
    TABLES.flatMap((table) => COLUMNS.map(([column, value]) => [table, column, value] as const)),
  )(
    'a reader of %s refuses by name when %s is damaged, until it is mended',
    async (table, column, value) => {
      const { change, search, requestId, reader, damaged, mend } = await filled(table)
      await change(column, value)
      const named = `the index columns of block .* of 2026-10-05 in ${table} are damaged`
      await expect(search('R-1')).rejects.toThrow(new RegExp(named))
      await expect(reader.find(requestId)).rejects.toThrow(new RegExp(named))
      const scan = { ...SCAN, deploymentId: 'dep_1', fromMs: DAY }
      await expect(reader.cells(scan).next()).rejects.toThrow(new RegExp(named))
      expect(damaged.counts()).toMatchObject({ index: 1 })
      await mend()
      expect(await search('R-1')).toHaveLength(1)
      expect(await reader.find(requestId)).not.toBeNull()
    },
  )

  // A report that is wrong looks like a right one.
  test.each(TABLES)('damaged counts in %s are named, and taken out', async (table) => {
    const { change, reader, damaged, mend } = await filled(table)
    await change('counts', "'\\x0102'")
    const counted = () =>
      reader.columns({ ...SCAN, deploymentId: 'dep_1' }, () => () => true).next()
    await expect(counted()).rejects.toThrow(
      new RegExp(`the counts of block .* of 2026-10-05 in ${table} are damaged`),
    )
    expect(damaged.counts()).toMatchObject({ counts: 1, index: 0 })
    await mend()
  })

  // Its time is the key by which other tables know a block: nothing here can set it right.
  test('a block in a wrong place stays named', async () => {
    const { change, upkeep, damaged } = await filled('score_blocks')
    await change('first_at', "first_at + interval '9 hours'")
    await upkeep.run()
    expect(damaged.counts()).toMatchObject({ index: 1 })
  })

  test('damage that no reader has met is found by upkeep', async () => {
    const { change, mend } = await filled('score_blocks')
    await change('id_from', "id_from + interval '1 day'")
    await mend()
  })

  // Else the block would be deleted three hours later, and nothing would have its records.
  test('a block that only a damaged column calls superseded stays', async () => {
    const { change, search, damaged, mend, db } = await filled('score_blocks')
    await change('superseded_at', "now() - interval '1 day'")
    await new BlockTables(db, makeModels(db), damaged).dropSuperseded(DAY + 3_600_000)
    await expect(search('R-1')).rejects.toThrow('index columns')
    await mend()
    expect(await search('R-1')).toHaveLength(1)
  })

  // Else its records would be read twice, and counted twice in each report.
  test('a block that only a damaged column calls current is not read beside the merged one', async () => {
    const { db, search, change, damaged } = await filled('score_blocks')
    await store({ db } as never, [logged(3_000_000, { reference: 'R-1' })])
    const tables = new BlockTables(db, makeModels(db), damaged)
    expect(await tables.merge(DAY + 2 * 3_600_000)).toBe(2)
    await change('superseded_at', 'null')
    await expect(search('R-1')).rejects.toThrow('index columns')
  })
})
