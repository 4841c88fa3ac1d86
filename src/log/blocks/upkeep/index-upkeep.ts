import { type SQL, sql } from 'drizzle-orm'
import {
  type Database,
  epochMs,
  momentText,
  queryRows,
  type Transaction,
} from '../../../platform/db/client.ts'
import { Periodic } from '../../../platform/periodic.ts'
import { readRowFacts } from '../../proof/row-faults.ts'
import type { BlockKey } from '../block-conditions.ts'
import { openBlock } from '../block-decoder.ts'
import type { BlockReader } from '../block-store.ts'
import { type Damage, type DamagedBlocks, damagedColumns, damagedPart } from '../damaged-block.ts'
import { type BlockTable, IS_INDEX_SOUND, indexSum, setFilter } from '../index-sums.ts'
import type { StoredBlock } from '../stored-block.ts'

interface IndexUpkeepOptions {
  readonly db: Database
  readonly blocks: Pick<BlockReader, 'blockAt'>
  readonly damaged: DamagedBlocks
  readonly onMended: (damage: Damage) => void
  readonly onFailed: (error: unknown) => void
}

const EVERY_MS = 60_000
/** Rounds from one search of all rows to the next: it reads the row of each block, not its data. */
const SEARCH_ROUNDS = 60
const FOUND_MAX = 1_000
const TABLES: readonly BlockTable[] = ['score_blocks', 'score_archive_blocks']

/**
 * Makes damaged columns by which statements choose blocks anew, from the records of the blocks, and
 * takes damaged counts out: reports read the block then. No reader waits for it to notice damage:
 * see `makeCondition`.
 */
export class IndexUpkeep {
  private readonly options: IndexUpkeepOptions
  private rounds = 0
  readonly periodic: Periodic

  constructor(options: IndexUpkeepOptions) {
    this.options = options
    const { onFailed } = options
    this.periodic = new Periodic({ round: () => this.run(), everyMs: EVERY_MS, onFailed })
  }

  async run(): Promise<void> {
    const { damaged, onFailed } = this.options
    if (this.rounds++ % SEARCH_ROUNDS === 0) await this.search()
    for (const damage of damaged.list()) {
      if (damage.table === undefined) continue
      // A block that can't be read, such as one of a lost file, must not hold up the others.
      await this.mend(damage).catch(onFailed)
    }
  }

  /** Notes the blocks whose index columns are not those that were written. */
  private async search(): Promise<void> {
    const { db, damaged } = this.options
    for (const table of TABLES) {
      const rows = await queryRows<BlockKey>(
        db,
        sql`select block_id::text as block_id, ${epochMs(sql`first_at`)} as first_at_ms
          from ${sql.identifier(table)} where not ${IS_INDEX_SOUND[table]} limit ${FOUND_MAX}`,
      )
      for (const { block_id: blockId, first_at_ms: firstAtMs } of rows) {
        damaged.note(damagedColumns({ blockId, firstAtMs }, 'index', table))
      }
    }
  }

  private async mend(damage: Damage): Promise<void> {
    const { blocks, damaged, onMended } = this.options
    const stored = await blocks.blockAt(damage)
    // A block that has gone is merged, archived or beyond the retention.
    if (stored === null || (await this.write(stored, damage))) {
      damaged.forget(damage)
      onMended(damage)
    }
  }

  /** @returns false if the block is damaged, too, is in a wrong place, or was changed meanwhile */
  private async write(stored: StoredBlock, { part }: Damage): Promise<boolean> {
    const { db, damaged } = this.options
    let facts: Awaited<ReturnType<typeof readRowFacts>>
    try {
      facts = await readRowFacts(openBlock(stored))
    } catch (cause) {
      damaged.note(damagedPart(stored, 'data', cause))
      return false
    }
    const { at, ids, records, applicants, deployments, filter } = facts
    // Its time is its key, which other tables have: an operator must mend that.
    if (Math.floor(at.first) !== stored.firstAtMs) return false
    // It may have been archived since it was found.
    const table = stored.archivedIn === undefined ? 'score_blocks' : 'score_archive_blocks'
    const key = sql`first_at = ${momentText(stored.firstAtMs)}
      and block_id = ${stored.blockId}::bigint and checksum = ${stored.checksum}`
    const name = sql.identifier(table)
    return db.transaction(async (tx) => {
      const changed = await queryRows(
        tx,
        sql`update ${name} set last_at = ${momentText(Math.ceil(at.last))},
            id_from = ${momentText(Math.floor(ids.first))},
            id_to = ${momentText(Math.ceil(ids.last))}, records = ${records},
            applicants = ${applicants},
            deployments = ${`{${[...deployments].sort((a, b) => a - b)}}`}::integer[],
            ${setFilter({ referenceFilter: filter })},
            counts = ${part === 'counts' ? null : sql`counts`}
          where ${key} returning 1`,
      )
      if (changed.length === 0) return false
      await this.writeSum(tx, table, key)
      return true
    })
  }

  /**
   * Writes the sum. What remains, if the sum is of other columns, is whether a merged block has the
   * requests: the sum says that where it is sound itself.
   */
  private async writeSum(tx: Transaction, table: BlockTable, key: SQL): Promise<void> {
    if (table === 'score_archive_blocks') {
      await tx.execute(sql`update score_archive_blocks set index_sum = ${indexSum(sql`false`)}
        where ${key}`)
      return
    }
    await tx.execute(sql`update score_blocks set superseded_at = case
        when index_sum = ${indexSum(sql`false`)} then null
        when index_sum = ${indexSum(sql`true`)} then coalesce(superseded_at, now())
        else superseded_at end where ${key}`)
    await tx.execute(sql`update score_blocks set index_sum = ${indexSum()} where ${key}`)
  }
}
