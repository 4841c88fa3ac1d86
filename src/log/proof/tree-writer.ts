import { sql } from 'drizzle-orm'
import { momentText, queryRows, type Transaction } from '../../platform/db/client.ts'
import type { DrainedBlock } from '../blocks/encode-blocks.ts'
import type { BlockSource } from './block-sources.ts'
import { FactsChain } from './facts-chain.ts'
import { UngrownTrees } from './log-tree.ts'
import { leafHash, TreeEdge } from './merkle.ts'
import { headOfRow, TREE_COLUMNS, type TreeRow, treeSum } from './tree-store.ts'

/**
 * A process that is frozen amid such a transaction loses it, and the trees with it, for which the
 * drains of other replicas wait. Connections for background work have this bound anyway; those of
 * others have a longer one.
 */
const IDLE_MS = 2_000
const BOUND_IDLE = sql.raw(
  `set_config('idle_in_transaction_session_timeout', '${IDLE_MS}', true) as bounded`,
)

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
 * @throws UngrownTrees; the transaction must then be taken back
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
      const facts = { applicants, firstAtMs: Math.floor(firstAtMs) }
      nodes.push({ treeId, level: 0, position: sequence, hash: root, ...facts })
      head.chain.add({ sequence, root, ...facts })
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
  readonly teamId: string
  readonly edge: TreeEdge
  readonly chain: FactsChain
}

/**
 * All locks are taken in the order of the teams, so that two drains never wait for each other.
 *
 * @throws UngrownTrees
 */
async function lockedHeads(
  tx: Transaction,
  teamIds: readonly string[],
): Promise<Map<string, Head>> {
  const ids = sql.join(
    teamIds.map((id) => sql`${id}`),
    sql`, `,
  )
  const known = await queryRows(tx, sql`select 1 from log_trees where team_id in (${ids})`)
  if (known.length < teamIds.length) {
    // Before the first lock: a drain that inserts a tree waits for one that has inserted it.
    const wanted = teamIds.map((id) => {
      const facts = FactsChain.begin(id).hash
      return sql`(${id}::text, ${facts}::bytea, ${treeSum(id, new TreeEdge(), facts)}::bytea)`
    })
    await tx.execute(sql`insert into log_trees (team_id, size, edge, facts, sum)
      select team_id, 0, ''::bytea, facts, sum
      from (values ${sql.join(wanted, sql`, `)}) as wanted(team_id, facts, sum)
      where team_id not in (select team_id from log_trees)
      order by team_id on conflict do nothing`)
  }
  const rows = await queryRows<TreeRow>(
    tx,
    sql`select ${TREE_COLUMNS}, ${BOUND_IDLE} from log_trees
      where team_id in (${ids}) order by team_id for update`,
  )
  const heads = new Map<string, Head>()
  const damaged = new Set<string>()
  for (const row of rows) {
    const { treeId, edge, facts, isSound } = headOfRow(row)
    if (!isSound) damaged.add(row.team_id)
    const chain = new FactsChain(edge.size, facts)
    heads.set(row.team_id, { treeId, teamId: row.team_id, edge, chain })
  }
  if (damaged.size > 0) throw new UngrownTrees(damaged)
  return heads
}

async function write(
  tx: Transaction,
  heads: readonly Head[],
  nodes: readonly NewNode[],
): Promise<void> {
  const moved = heads.map(
    ({ treeId, teamId, edge, chain }) =>
      sql`(${treeId}::integer, ${edge.size}::bigint, ${edge.bytes}::bytea, ${chain.hash}::bytea,
        ${treeSum(teamId, edge, chain.hash)}::bytea)`,
  )
  const added = nodes.map(
    ({ treeId, level, position, hash, applicants, firstAtMs }) =>
      sql`(${treeId}::integer, ${level}::smallint, ${position}::bigint, ${hash}::bytea,
        ${applicants}::integer, ${firstAtMs === null ? null : momentText(firstAtMs)}::timestamptz)`,
  )
  const written = await queryRows<{ tree_id: number }>(
    tx,
    sql`with moved as (
      update log_trees set size = wanted.size, edge = wanted.edge, facts = wanted.facts,
        sum = wanted.sum
      from (values ${sql.join(moved, sql`, `)}) as wanted(id, size, edge, facts, sum)
      where log_trees.id = wanted.id
    )
    insert into log_tree_nodes (tree_id, level, position, hash, applicants, first_at)
    values ${sql.join(added, sql`, `)} on conflict do nothing returning tree_id`,
  )
  if (written.length === nodes.length) return
  // Something stands where these trees would grow.
  const count = (all: readonly number[], id: number) => all.filter((one) => one === id).length
  const stored = written.map(({ tree_id: id }) => id)
  const wanted = nodes.map(({ treeId: id }) => id)
  const stuck = heads.filter(({ treeId: id }) => count(stored, id) < count(wanted, id))
  throw new UngrownTrees(new Set(stuck.map(({ teamId }) => teamId)))
}
