import { type SQL, sql } from 'drizzle-orm'
import { type Database, rowsOf } from '../../platform/db/client.ts'
import { epochMs } from '../../rollups/rollup-rows.ts'
import type { TreeLeaf } from './facts-chain.ts'
import type { StrayNode, TreeHead, TreeStore } from './log-tree.ts'
import { STORED_LEVELS, TreeEdge } from './merkle.ts'

/** Above all levels of a tree. */
const LEVELS = 64

/** Trees in PostgreSQL. */
export class PostgresTreeStore implements TreeStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async head(teamId: string): Promise<TreeHead> {
    const [row] = await rowsOf<TreeRow>(
      this.db,
      sql`select ${TREE_COLUMNS} from log_trees where team_id = ${teamId}`,
    )
    if (row === undefined) return { treeId: null, edge: new TreeEdge(), facts: null }
    return headOfRow(row)
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

  leaves(treeId: number, first: number, count: number): Promise<TreeLeaf[]> {
    return readLeaves(this.db, treeId, first, count)
  }

  strays(treeId: number, limit: number): Promise<StrayNode[]> {
    const size = sql`(select size from log_trees where id = ${treeId})`
    // Ranges of the primary key, but the second: it reads a row for each 256 leaves.
    const wrong: SQL[] = [
      sql`(level < 0 or level >= ${LEVELS})`,
      sql`level > 0 and num_nonnulls(applicants, first_at) > 0`,
    ]
    for (let level = 0; level < LEVELS; level += STORED_LEVELS) {
      wrong.push(
        sql`level = ${level} and position < 0`,
        sql`level = ${level} and position >= ${size} >> ${level}::integer`,
        sql`level > ${level} and level < ${level + STORED_LEVELS}`,
      )
    }
    const parts = wrong.map(
      (condition) => sql`(select level, position::float8 as position from log_tree_nodes
        where tree_id = ${treeId} and ${condition} limit ${limit})`,
    )
    return rowsOf<StrayNode>(this.db, sql`${sql.join(parts, sql` union all `)} limit ${limit}`)
  }
}

/** A row as `TREE_COLUMNS` reads it. */
export interface TreeRow {
  readonly id: number
  readonly team_id: string
  readonly size: number
  readonly edge: Uint8Array
  readonly facts: Uint8Array | null
  readonly facts_size: number
  readonly untraced_until_ms: number | null
}

export const TREE_COLUMNS = sql`id, team_id, size::float8 as size, edge, facts,
  facts_size::float8 as facts_size, ${epochMs(sql`untraced_until`)} as untraced_until_ms`

export function headOfRow(row: TreeRow): TreeHead & { readonly treeId: number } {
  const { id, size, edge, facts, facts_size, untraced_until_ms: untracedUntilMs } = row
  return {
    treeId: id,
    edge: new TreeEdge(size, Buffer.from(edge)),
    facts: facts && { size: facts_size, hash: Buffer.from(facts), untracedUntilMs },
  }
}

/** The leaves of a tree from this one on, in their order. */
export async function readLeaves(
  db: Database,
  treeId: number,
  first: number,
  count: number,
): Promise<TreeLeaf[]> {
  const rows = await rowsOf<{
    position: number
    hash: Uint8Array
    applicants: number
    first_ms: number
  }>(
    db,
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
