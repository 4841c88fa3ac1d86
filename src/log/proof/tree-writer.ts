import { sql } from 'drizzle-orm'
import { rowsOf, type Transaction } from '../../platform/db/client.ts'
import { epochMs, momentText } from '../../rollups/rollup-rows.ts'
import type { DrainedBlock } from '../blocks/encode-blocks.ts'
import type { BlockSource } from './block-sources.ts'
import { FactsChain } from './facts-chain.ts'
import { leafHash, type TreeEdge } from './merkle.ts'
import { headOfRow, readLeaves, TREE_COLUMNS, type TreeRow } from './tree-store.ts'

/** Leaves from before the chain that one transaction adds to it. */
const CAUGHT_UP_MAX = 2_000
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
  readonly edge: TreeEdge
  readonly chain: FactsChain
  readonly untracedUntilMs: number | null
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
  const rows = await rowsOf<TreeRow>(
    tx,
    sql`select ${TREE_COLUMNS}, ${BOUND_IDLE} from log_trees
      where team_id in (${ids}) order by team_id for update`,
  )
  const heads = new Map<string, Head>()
  for (const row of rows) heads.set(row.team_id, await headOf(tx, row))
  return heads
}

/** A tree with its chain, to which leaves of replicas of an older version are added. */
async function headOf(tx: Transaction, row: TreeRow): Promise<Head> {
  const { treeId, edge, facts } = headOfRow(row)
  const untracedUntilMs = facts === null ? await untracedUntil(tx) : facts.untracedUntilMs
  const chain =
    facts === null ? FactsChain.begin(row.team_id, untracedUntilMs) : new FactsChain(facts)
  if (chain.size < edge.size) {
    for (const leaf of await readLeaves(tx, treeId, chain.size, CAUGHT_UP_MAX)) chain.add(leaf)
  }
  return { treeId, edge, chain, untracedUntilMs }
}

/**
 * Until when records without a place in a tree are expected: a day from now if the oldest block is
 * from before the trees, since replicas of that version can still run; null otherwise.
 */
async function untracedUntil(tx: Transaction): Promise<number | null> {
  const [oldest] = await rowsOf<{ is_untraced: boolean; until_ms: number }>(
    tx,
    sql`select is_untraced, floor(${epochMs(sql`now() + interval '1 day'`)}) as until_ms from (
        (select first_at, sources is null as is_untraced from score_blocks
          order by first_at limit 1)
        union all (select first_at, sources_bytes is null from score_archive_blocks
          order by first_at limit 1)
      ) as oldest order by first_at limit 1`,
  )
  return oldest?.is_untraced === true ? oldest.until_ms : null
}

async function write(
  tx: Transaction,
  heads: readonly Head[],
  nodes: readonly NewNode[],
): Promise<void> {
  const moved = heads.map(
    ({ treeId, edge, chain, untracedUntilMs }) =>
      sql`(${treeId}::integer, ${edge.size}::bigint, ${edge.bytes}::bytea, ${chain.hash}::bytea,
        ${chain.size}::bigint, ${momentOf(untracedUntilMs)}::timestamptz)`,
  )
  const added = nodes.map(
    ({ treeId, level, position, hash, applicants, firstAtMs }) =>
      sql`(${treeId}::integer, ${level}::smallint, ${position}::bigint, ${hash}::bytea,
        ${applicants}::integer, ${momentOf(firstAtMs)}::timestamptz)`,
  )
  await tx.execute(sql`with moved as (
      update log_trees set size = wanted.size, edge = wanted.edge, facts = wanted.facts,
        facts_size = wanted.facts_size, untraced_until = wanted.untraced_until
      from (values ${sql.join(moved, sql`, `)})
        as wanted(id, size, edge, facts, facts_size, untraced_until)
      where log_trees.id = wanted.id
    )
    insert into log_tree_nodes (tree_id, level, position, hash, applicants, first_at)
    values ${sql.join(added, sql`, `)}`)
}

function momentOf(ms: number | null): string | null {
  return ms === null ? null : momentText(ms)
}
