import { sql } from 'drizzle-orm'
import { queryRows } from '../../platform/db/client.ts'
import { momentText } from '../../platform/db/moments.ts'
import { DatabaseStore } from '../../platform/db/store.ts'
import type { StoredBlock } from './stored-block.ts'

/** The columns of a block by which statements choose it, and which no reader of records reads. */
export interface BlockIndex {
  /** See `deploymentHash`. */
  readonly deployments: readonly number[]
  /** See `ReferenceFilter`. */
  readonly referenceFilter: Buffer | null
}

interface IndexRow {
  readonly deployments: string
  readonly reference_filter: Uint8Array | null
}

/** The index columns in PostgreSQL, those of archived blocks included. */
export class BlockIndexReader extends DatabaseStore {
  /** @returns null for a block that has left, or was changed, since it was read */
  async findIndex({ firstAtMs, blockId, checksum }: StoredBlock): Promise<BlockIndex | null> {
    const isIt = sql`first_at = ${momentText(firstAtMs)} and block_id = ${blockId}::bigint
      and checksum = ${checksum}`
    const columns = sql`array_to_string(deployments, ' ') as deployments, reference_filter`
    const [row] = await queryRows<IndexRow>(
      this.db,
      sql`select ${columns} from score_blocks where ${isIt}
        union all
        select ${columns} from score_archive_blocks where ${isIt}`,
    )
    if (row === undefined) return null
    const { deployments, reference_filter: filter } = row
    return {
      deployments: deployments === '' ? [] : deployments.split(' ').map(Number),
      referenceFilter: filter === null ? null : Buffer.from(filter),
    }
  }
}
