import { sql } from 'drizzle-orm'
import { epochMs, momentText, queryRows, type Statements } from '../../platform/db/client.ts'
import { isDataCorrupt } from '../../platform/db/errors.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import { areIn } from './block-conditions.ts'
import type { BlockQuery } from './block-reader.ts'
import type { ListedBlock } from './block-rows.ts'
import { type DamagedBlock, type DamagedBlocks, damagedColumns } from './damaged-block.ts'
import { type BlockTable, IS_INDEX_SOUND } from './index-sums.ts'
import { type CountedResults, type Owner, readCounted } from './result-counts.ts'

/** Blocks of one statement: their counts have about 64 KiB each at most. */
const PORTION_BLOCKS = 64

/**
 * Hands over the counts of blocks whose requests are all in the range of a query.
 *
 * @returns the other blocks, and those whose counts were not taken
 * @throws DamagedBlock, which is counted
 */
export async function takeCounts(
  { db, damaged }: CountsSource,
  listed: readonly ListedBlock[],
  { deploymentId, fromMs, toMs, counts }: BlockQuery,
): Promise<readonly ListedBlock[]> {
  if (counts === undefined || deploymentId === undefined || listed.length === 0) return listed
  const take = counts.open()
  if (take === null) return listed
  const owner = { teamId: counts.teamId, deploymentId }
  const taken = new Set<string>()
  const turns = new TurnTaker()
  const whole = listed.filter(({ first_at_ms }) => first_at_ms >= fromMs)
  for (let at = 0; at < whole.length; at += PORTION_BLOCKS) {
    for (const row of await readRows({ db, damaged }, whole.slice(at, at + PORTION_BLOCKS), toMs)) {
      const results = readResults(row, owner, damaged)
      if (results === null || !take({ firstAtMs: row.first_at_ms, results })) continue
      taken.add(row.block_id)
      await turns.giveWay()
    }
  }
  return listed.filter(({ block_id }) => !taken.has(block_id))
}

interface CountsSource {
  readonly db: Statements
  readonly damaged: DamagedBlocks
}

interface CountsRow {
  readonly block_id: string
  readonly first_at_ms: number
  readonly checksum: number
  readonly from_table: BlockTable
  /** Base64: see `BLOCK_COLUMNS_BARE`. */
  readonly counts: string
}

function readResults(
  row: CountsRow,
  owner: Owner,
  damaged: DamagedBlocks,
): CountedResults[] | null {
  try {
    return readCounted(Buffer.from(row.counts, 'base64'), row.checksum, owner)
  } catch {
    throw damagedCounts(row, row.from_table, damaged)
  }
}

function damagedCounts(
  { block_id: blockId, first_at_ms: firstAtMs }: Pick<ListedBlock, 'block_id' | 'first_at_ms'>,
  table: BlockTable,
  damaged: DamagedBlocks,
): DamagedBlock {
  const error = damagedColumns({ blockId, firstAtMs }, 'counts', table)
  damaged.note(error)
  return error
}

async function readRows(
  { db, damaged }: CountsSource,
  blocks: readonly ListedBlock[],
  toMs: number,
): Promise<CountsRow[]> {
  try {
    return await queryCounts(db, blocks, toMs)
  } catch (error) {
    if (!isDataCorrupt(error)) throw error
    const [only, ...others] = blocks
    if (only !== undefined && others.length === 0) {
      const table = only.is_archived ? 'score_archive_blocks' : 'score_blocks'
      throw damagedCounts(only, table, damaged)
    }
    const rows: CountsRow[] = []
    for (const block of blocks) rows.push(...(await readRows({ db, damaged }, [block], toMs)))
    return rows
  }
}

function queryCounts(
  db: Statements,
  blocks: readonly ListedBlock[],
  toMs: number,
): Promise<CountsRow[]> {
  const select = (table: BlockTable) => sql`select block_id::text as block_id,
      ${epochMs(sql`first_at`)} as first_at_ms, checksum::float8 as checksum, ${table}::text as from_table,
      encode(counts, 'base64') as counts
    from ${sql.identifier(table)} where ${areIn(blocks)} and last_at < ${momentText(toMs)}
      and counts is not null and ${IS_INDEX_SOUND[table]}`
  return queryRows(db, sql`${select('score_blocks')} union all ${select('score_archive_blocks')}`)
}
