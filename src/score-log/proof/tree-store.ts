import { sql } from 'drizzle-orm'
import { type Database, rowsOf } from '../../platform/db/client.ts'
import { epochMs } from '../../rollups/rollup-rows.ts'
import type { TreeHead, TreeLeaf, TreeStore } from './log-tree.ts'
import { TreeEdge } from './merkle.ts'

/** Trees in PostgreSQL. */
export class PostgresTreeStore implements TreeStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async head(teamId: string): Promise<TreeHead> {
    const [row] = await rowsOf<{ id: number; size: number; edge: Uint8Array }>(
      this.db,
      sql`select id, size::float8 as size, edge from log_trees where team_id = ${teamId}`,
    )
    if (row === undefined) return { treeId: null, edge: new TreeEdge() }
    return { treeId: row.id, edge: new TreeEdge(row.size, Buffer.from(row.edge)) }
  }

  async nodes(
    treeId: number,
    level: number,
    first: number,
    count: number,
  ): Promise<ReadonlyMap<number, Buffer>> {
    const rows = await rowsOf<{ position: number; hash: Uint8Array }>(
      this.db,
      sql`select position::float8 as position, hash from log_tree_nodes
        where tree_id = ${treeId} and level = ${level} and position >= ${first}
          and position < ${first + count}`,
    )
    return new Map(rows.map(({ position, hash }) => [position, Buffer.from(hash)]))
  }

  async leaves(treeId: number, first: number, count: number): Promise<TreeLeaf[]> {
    const rows = await rowsOf<{
      position: number
      hash: Uint8Array
      applicants: number
      first_ms: number
    }>(
      this.db,
      sql`select position::float8 as position, hash, applicants,
          ${epochMs(sql`first_at`)} as first_ms
        from log_tree_nodes where tree_id = ${treeId} and level = 0 and position >= ${first}
        order by position limit ${count}`,
    )
    return rows.map(({ position, hash, applicants, first_ms }) => ({
      sequence: position,
      root: Buffer.from(hash),
      applicants,
      firstAtMs: first_ms,
    }))
  }
}
