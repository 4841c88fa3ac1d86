import { sql } from 'drizzle-orm'
import type { OpenBlock } from '../../../src/log/blocks/block-decoder.ts'
import { openBlock } from '../../../src/log/blocks/block-decoder.ts'
import { BlockReader } from '../../../src/log/blocks/block-store.ts'
import type { StoredBlock } from '../../../src/log/blocks/stored-block.ts'
import { makeModels } from '../../../src/log/reading/stored-models.ts'
import { type LoggedRequest, readLoggedRequest } from '../../../src/log/record/logged-request.ts'
import type { Rollup } from '../../../src/log/rollups/rollup.ts'
import { mergedRollup } from '../../../src/log/rollups/rollup.ts'
import type { Span } from '../../../src/log/rollups/spans.ts'
import { type Database, queryRows } from '../../../src/platform/db/client.ts'
import { StatsStore } from '../../../src/reports/stats/store.ts'

/** A request of the log. */
export interface LoggedFacts {
  readonly requestId: string
  readonly scoredAtMs: number
  readonly applicants: number
}

/** Facts of all requests in the log, oldest first. */
export async function loggedFacts(db: Database): Promise<LoggedFacts[]> {
  const facts: LoggedFacts[] = []
  for await (const { block } of loggedBlocks(db)) {
    for (let index = 0; index < block.count; index++) {
      facts.push({
        requestId: block.requestId(index),
        scoredAtMs: block.scoredAtMs(index),
        applicants: block.applicants(index),
      })
    }
  }
  const order = (one: LoggedFacts, other: LoggedFacts) =>
    one.scoredAtMs - other.scoredAtMs || (one.requestId < other.requestId ? -1 : 1)
  return facts.sort(order)
}

/** Ids of all requests in the log, oldest first. */
export async function loggedIds(db: Database): Promise<string[]> {
  return (await loggedFacts(db)).map(({ requestId }) => requestId)
}

/** All requests in the blocks of the log. */
export async function loggedRequests(db: Database): Promise<LoggedRequest[]> {
  const source = makeModels(db)
  const requests: LoggedRequest[] = []
  for await (const { block } of loggedBlocks(db)) {
    const models = await source.compiled(block.modelIds)
    for (let index = 0; index < block.count; index++) {
      requests.push(readLoggedRequest(block.payload(index, models), models))
    }
  }
  return requests
}

async function* loggedBlocks(
  db: Database,
): AsyncIterable<{ readonly block: OpenBlock; readonly stored: StoredBlock }> {
  const all = { fromMs: -Infinity, toMs: Infinity, order: 'oldest' } as const
  for await (const stored of new BlockReader(db).blocksIn(all)) {
    yield { block: openBlock(stored), stored }
  }
}

/** Ids of the requests in each table of the log that holds any. */
export async function idsByPartition(db: Database): Promise<Record<string, string[]>> {
  const rows = await queryRows<{ name: string; block_id: string }>(
    db,
    sql`select tableoid::regclass::text as name, block_id::text as block_id from score_blocks`,
  )
  const nameOf = new Map(rows.map(({ block_id, name }) => [block_id, name]))
  const found: Record<string, string[]> = {}
  for await (const { block, stored } of loggedBlocks(db)) {
    const name = nameOf.get(stored.blockId) ?? ''
    const ids = Array.from({ length: block.count }, (_, index) => block.requestId(index))
    found[name] = [...(found[name] ?? []), ...ids].sort()
  }
  return found
}

/** The names of all tables of the log but the default one. */
export async function partitions(db: Database): Promise<string[]> {
  const rows = await queryRows<{ name: string }>(
    db,
    sql`select inhrelid::regclass::text as name from pg_inherits
      where inhparent = 'score_blocks'::regclass order by 1`,
  )
  return rows.map(({ name }) => name).filter((name) => name !== 'score_blocks_default')
}

/**
 * What the rollups of one span and the sums of newer blocks say of a deployment, of all time and
 * all writers.
 */
export async function rollupOver(
  db: Database,
  span: Span,
  deploymentId: string,
): Promise<Rollup | null> {
  const range = { span, fromMs: -Infinity, toMs: Infinity }
  const rollups = await new StatsStore(db).rollups(deploymentId, [range])
  return mergedRollup(rollups.map(({ rollup }) => rollup))
}
