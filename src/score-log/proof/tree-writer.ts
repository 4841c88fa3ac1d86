import { sql } from 'drizzle-orm'
import { rowsOf, type Transaction } from '../../platform/db/client.ts'
import { momentText } from '../../rollups/rollup-rows.ts'
import type { DrainedBlock } from '../blocks/encode-blocks.ts'
import type { BlockSource } from './block-sources.ts'
import { leafHash, TreeEdge } from './merkle.ts'

interface HeadRow {
  readonly id: number
  readonly team_id: string
  readonly size: number
  readonly edge: Uint8Array
}

interface NewNode {
  readonly treeId: number
  readonly level: number
  readonly position: number
  readonly hash: Buffer
  readonly applicants: number | null
  readonly firstAtMs: number | null
}

/**
 * Adds drained blocks to the trees of their teams. The trees stay locked until the end of the
 * transaction, so that replicas add one after the other.
 *
 * @returns the sources of each block
 */
export async function growTrees(
  tx: Transaction,
  blocks: readonly DrainedBlock[],
): Promise<BlockSource[][]> {
  const teamIds = [...new Set(blocks.flatMap(({ trees }) => trees.map(({ teamId }) => teamId)))]
  if (teamIds.length === 0) return blocks.map(() => [])
  const heads = await lockedHeads(tx, teamIds)
  const nodes: NewNode[] = []
  const sources = blocks.map(({ trees, firstAtMs }) =>
    trees.map(({ teamId, root, size: applicants }) => {
      const head = heads.get(teamId)
      if (head === undefined) throw new Error('a tree has gone')
      const { treeId, edge } = head
      const sequence = edge.size
      const at = { treeId, level: 0, position: sequence }
      nodes.push({ ...at, hash: root, applicants, firstAtMs: Math.floor(firstAtMs) })
      for (const node of edge.add(leafHash(root))) {
        nodes.push({ treeId, ...node, applicants: null, firstAtMs: null })
      }
      return { teamId, sequence }
    }),
  )
  await write(tx, [...heads.values()], nodes)
  return sources
}

interface Head {
  readonly treeId: number
  readonly edge: TreeEdge
}

/** All locks are taken in the order of the teams, so that two drains never wait for each other. */
async function lockedHeads(
  tx: Transaction,
  teamIds: readonly string[],
): Promise<Map<string, Head>> {
  const ids = sql.join(
    teamIds.map((id) => sql`${id}`),
    sql`, `,
  )
  const known = await rowsOf(tx, sql`select 1 from log_trees where team_id in (${ids})`)
  if (known.length < teamIds.length) {
    // Before the first lock: a drain that inserts a tree waits for one that has inserted it.
    await tx.execute(sql`insert into log_trees (team_id, size, edge)
      select team_id, 0, ''::bytea from unnest(array[${ids}]::text[]) as wanted(team_id)
      where team_id not in (select team_id from log_trees)
      order by team_id on conflict do nothing`)
  }
  const rows = await rowsOf<HeadRow>(
    tx,
    sql`select id, team_id, size::float8 as size, edge from log_trees
      where team_id in (${ids}) order by team_id for update`,
  )
  return new Map(
    rows.map(({ id, team_id, size, edge }) => [
      team_id,
      { treeId: id, edge: new TreeEdge(size, Buffer.from(edge)) },
    ]),
  )
}

async function write(
  tx: Transaction,
  heads: readonly Head[],
  nodes: readonly NewNode[],
): Promise<void> {
  const moved = heads.map(
    ({ treeId, edge }) => sql`(${treeId}::integer, ${edge.size}::bigint, ${edge.bytes}::bytea)`,
  )
  const added = nodes.map(
    ({ treeId, level, position, hash, applicants, firstAtMs }) =>
      sql`(${treeId}::integer, ${level}::smallint, ${position}::bigint, ${hash}::bytea,
        ${applicants}::integer, ${firstAtMs === null ? null : momentText(firstAtMs)}::timestamptz)`,
  )
  await tx.execute(sql`with moved as (
      update log_trees set size = wanted.size, edge = wanted.edge
      from (values ${sql.join(moved, sql`, `)}) as wanted(id, size, edge)
      where log_trees.id = wanted.id
    )
    insert into log_tree_nodes (tree_id, level, position, hash, applicants, first_at)
    values ${sql.join(added, sql`, `)}`)
}
