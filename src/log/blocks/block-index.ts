import { sql } from 'drizzle-orm'
import { DatabaseStore, momentText, queryRows } from '../../platform/db/client.ts'
import type { StoredBlock } from './stored-block.ts'

/** The columns of a block that no reader of records reads: those by which it is chosen, and counts. */
export interface BlockIndex {
  /** See `deploymentHash`. */
  readonly deployments: readonly number[]
  /** See `ReferenceFilter`. */
  readonly referenceFilter: Buffer | null
  /** See `countResults`. */
  readonly counts: Buffer | null
}

interface IndexRow {
  readonly deployments: string
  readonly reference_filter: Uint8Array | null
  readonly counts: Uint8Array | null
}

/** The index columns in PostgreSQL, those of archived blocks included. */
export class BlockIndexReader extends DatabaseStore {
  /** @returns null for a block that has left, or was changed, since it was read */
  async findIndex({ firstAtMs, blockId, checksum }: StoredBlock): Promise<BlockIndex | null> {
    const isIt = sql`first_at = ${momentText(firstAtMs)} and block_id = ${blockId}::bigint
      and checksum = ${checksum}`
    const columns = sql`array_to_string(deployments, ' ') as deployments, reference_filter, counts`
    const [row] = await queryRows<IndexRow>(
      this.db,
      sql`select ${columns} from score_blocks where ${isIt}
        union all
        select ${columns} from score_archive_blocks where ${isIt}`,
    )
    if (row === undefined) return null
    const { deployments, reference_filter: filter, counts } = row
    return {
      deployments: deployments === '' ? [] : deployments.split(' ').map(Number),
      referenceFilter: filter === null ? null : Buffer.from(filter),
      counts: counts === null ? null : Buffer.from(counts),
    }
  }
}
