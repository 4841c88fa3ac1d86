import { hash } from 'node:crypto'
import { type SQL, sql } from 'drizzle-orm'
import { askedRow, askTwice } from '../../platform/db/asked-rows.ts'
import { type Database, DatabaseStore, epochMs, queryRows } from '../../platform/db/client.ts'
import type { TreeLeaf } from './facts-chain.ts'
import { STORED_LEVELS, TreeEdge } from './merkle.ts'

export interface StrayNode {
  readonly level: number
  readonly position: number
}

export interface TreeHead {
  /** Null for a team without a drained block. */
  readonly treeId: number | null
  readonly edge: TreeEdge
  /** Hash of the chain over the facts of all leaves; null for a team without a drained block. */
  readonly facts: Buffer | null
  /** True if the row in `log_trees` is the one that was written. */
  readonly isSound: boolean
}

/** Above all levels of a tree. */
const LEVELS = 64

/** Reads trees: those in PostgreSQL, or those of a second opinion. */
export type Trees = Pick<TreeStore, keyof TreeStore>

export class TreeStore extends DatabaseStore {
  async head(teamId: string): Promise<TreeHead> {
    // A checkpoint says what it finds, signed, and could never be taken back.
    const row = await askTwice(this.db, async (db) => {
      const rows = await queryRows<TreeRow>(
        db,
        sql`select ${TREE_COLUMNS} from log_trees where team_id = ${teamId}`,
      )
      return askedRow(rows, ({ team_id }) => team_id === teamId)
    })
    if (row === null) return { treeId: null, edge: new TreeEdge(), facts: null, isSound: true }
    return headOfRow(row)
  }

  /** Stored nodes of a level; those that are missing are left out. */
  async nodes(
    treeId: number,
    level: number,
    first: number,
    count: number,
  ): Promise<ReadonlyMap<number, Buffer>> {
    const rows = await queryRows<{ position: number; hash: Uint8Array }>(
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

  /** Rows that the drain would not have written for this tree, at most `limit`. */
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
    return queryRows<StrayNode>(this.db, sql`${sql.join(parts, sql` union all `)} limit ${limit}`)
  }
}

/** A row as `TREE_COLUMNS` reads it. */
export interface TreeRow {
  readonly id: number
  readonly team_id: string
  readonly size: number
  readonly edge: Uint8Array
  readonly facts: Uint8Array
  readonly sum: Uint8Array
}

export const TREE_COLUMNS = sql`id, team_id, size::float8 as size, edge, facts, sum`

/** The checksum of a row of `log_trees`: a tree that grew from a damaged one could not be mended. */
export function treeSum(teamId: string, edge: TreeEdge, facts: Uint8Array): Buffer {
  const place = Buffer.from(`${teamId} ${edge.size} `)
  return hash('sha256', Buffer.concat([place, edge.bytes, facts]), 'buffer')
}

export function headOfRow({ id, team_id: teamId, size, edge: hashes, facts, sum }: TreeRow) {
  const edge = new TreeEdge(size, Buffer.from(hashes))
  return {
    treeId: id,
    edge,
    facts: Buffer.from(facts),
    isSound: treeSum(teamId, edge, facts).equals(sum),
  } satisfies TreeHead
}

/** The leaves of a tree from this one on, in their order. */
export async function readLeaves(
  db: Database,
  treeId: number,
  first: number,
  count: number,
): Promise<TreeLeaf[]> {
  const rows = await queryRows<{
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
