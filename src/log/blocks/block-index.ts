import { sql } from 'drizzle-orm'
import { type Database, rowsOf } from '../../platform/db/client.ts'
import { momentText } from '../../rollups/rollup-rows.ts'
import type { StoredBlock } from './stored-block.ts'

/** The columns of a block by which statements choose it, and which no reader of records reads. */
export interface BlockIndex {
  /** See `deploymentHash`. */
  readonly deployments: readonly number[]
  /** See `ReferenceFilter`. */
  readonly referenceFilter: Buffer | null
  /** False where the row keeps sums of its own that are not counted yet. */
  readonly isSummed: boolean
  readonly hasSums: boolean
}

/** Reads the index columns of blocks. */
export interface BlockIndexReader {
  /** @returns null for a block that has left, or was changed, since it was read */
  indexOf(block: StoredBlock): Promise<BlockIndex | null>
}

interface IndexRow {
  readonly deployments: string
  readonly reference_filter: Uint8Array | null
  readonly is_summed: boolean
  readonly has_sums: boolean
}

/** The index columns in PostgreSQL, those of archived blocks included. */
export class PostgresBlockIndex implements BlockIndexReader {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async indexOf({ firstAtMs, blockId, checksum }: StoredBlock): Promise<BlockIndex | null> {
    const isIt = sql`first_at = ${momentText(firstAtMs)} and block_id = ${blockId}::bigint
      and checksum = ${checksum}`
    const columns = sql`array_to_string(deployments, ' ') as deployments, reference_filter`
    const [row] = await rowsOf<IndexRow>(
      this.db,
      sql`select ${columns}, is_summed, octet_length(sums) > 0 as has_sums
        from score_blocks where ${isIt}
        union all
        select ${columns}, true, false from score_archive_blocks where ${isIt}`,
    )
    if (row === undefined) return null
    const { deployments, reference_filter: filter, is_summed: isSummed, has_sums: hasSums } = row
    return {
      deployments: deployments === '' ? [] : deployments.split(' ').map(Number),
      referenceFilter: filter === null ? null : Buffer.from(filter),
      isSummed,
      hasSums,
    }
  }
}
