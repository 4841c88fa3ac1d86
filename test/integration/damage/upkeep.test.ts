import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { DamagedBlocks } from '../../../src/log/blocks/damaged-block.ts'
import { BlockTables } from '../../../src/log/blocks/upkeep/block-tables.ts'
import { makeModels } from '../../../src/log/reading/stored-models.ts'
import { type DatabaseHandle, queryRows } from '../../../src/platform/db/client.ts'
import { DAY, insertModel, logged, makeDay, store } from '../../support/archive/archived-log.ts'
import { rollupOver } from '../../support/score-log/log-rows.ts'
import { backends } from '../../support/start/databases.ts'
import { databaseForTest } from '../../support/start/seeded-database.ts'

const HOUR_MS = 3_600_000
const BLOCKS = 4
/** The second block is the damaged one. */
const FIRST = new Date(DAY).toISOString()
const RECORDS_EACH = 5

describe.each(backends)('on $name', (backend) => {
  /** Blocks of one hour that is over, whose sums wait. */
  async function filled(): Promise<DatabaseHandle> {
    const handle = await databaseForTest(backend)
    await insertModel(handle)
    await makeDay(handle, DAY)
    for (let block = 0; block < BLOCKS; block++) {
      const records = Array.from({ length: RECORDS_EACH }, (_, n) =>
        logged(60_000 * (RECORDS_EACH * block + n)),
      )
      await store(handle, records)
    }
    return handle
  }
  const flip = (handle: DatabaseHandle, table: string, column: string, byte = 9) =>
    handle.db.execute(
      sql.raw(`update ${table} set ${column} = set_byte(${column}, ${byte}, get_byte(${column}, ${byte}) # 4)
        where first_at = (select min(first_at) from ${table} where first_at > '${FIRST}')`),
    )
  const open = ({ db }: DatabaseHandle) => {
    const damaged = new DamagedBlocks()
    return { damaged, tables: new BlockTables(db, makeModels(db), damaged) }
  }
  const results = async ({ db }: DatabaseHandle) =>
    (await rollupOver(db, 'day', 'dep_1'))?.resultCount
  const waiting = async ({ db }: DatabaseHandle) =>
    (await queryRows(db, sql`select 1 from score_sums`)).length

  // Statistics would stand still for all deployments.
  test('damaged sums are made anew from their block, and nothing is missing', async () => {
    const handle = await filled()
    await flip(handle, 'score_sums', 'sums')
    const { damaged, tables } = open(handle)
    // As upkeep does, until there is nothing more.
    while ((await tables.rollUp()) > 0);
    expect(await results(handle)).toBe(BLOCKS * RECORDS_EACH)
    expect(await waiting(handle)).toBe(0)
    expect(damaged.counts()).toMatchObject({ data: 0, sums: 1, sources: 0 })
    await tables.recheck()
    expect(damaged.counts()).toMatchObject({ data: 0, sums: 0, sources: 0 })
    expect(damaged.reads).toBe(1)
  })

  test('sums whose block is damaged, too, stay; those of other blocks are added', async () => {
    const handle = await filled()
    await flip(handle, 'score_sums', 'sums')
    await flip(handle, 'score_blocks', 'data', 20)
    const { damaged, tables } = open(handle)
    expect(await tables.rollUp()).toBe(BLOCKS - 1)
    expect(await tables.rollUp()).toBe(0)
    // Statistics that leave them out would be wrong without a sign.
    await expect(results(handle)).rejects.toThrow('in score_sums are damaged')
    expect(await waiting(handle)).toBe(1)
    expect(damaged.counts()).toMatchObject({ data: 1, sums: 1, sources: 0 })

    // The block is restored from a backup.
    await flip(handle, 'score_blocks', 'data', 20)
    while ((await tables.rollUp()) > 0);
    expect(await results(handle)).toBe(BLOCKS * RECORDS_EACH)
    await tables.recheck()
    expect(damaged.list()).toEqual([])
  })

  test.each([
    ['data', 20],
    ['sources', 3],
  ])('the other blocks of an hour are merged beside one with damaged %s', async (column, byte) => {
    const handle = await filled()
    await flip(handle, 'score_blocks', column, byte)
    const { damaged, tables } = open(handle)
    await tables.rollUp()
    expect(await tables.merge(DAY + 2 * HOUR_MS)).toBe(BLOCKS - 1)
    expect(await tables.merge(DAY + 2 * HOUR_MS)).toBe(0)
    expect(damaged.list()).toMatchObject([{ part: column, reason: 'damaged' }])
    await flip(handle, 'score_blocks', column, byte)
    await tables.recheck()
    expect(damaged.list()).toEqual([])
    expect(await tables.merge(DAY + 2 * HOUR_MS)).toBe(2)
  })
})
