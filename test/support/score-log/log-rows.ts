import { sql } from 'drizzle-orm'
import { type Database, rowsOf } from '../../../src/platform/db/client.ts'
import type { Rollup } from '../../../src/rollups/rollup.ts'
import { mergedRollup } from '../../../src/rollups/rollup.ts'
import { epochMs } from '../../../src/rollups/rollup-rows.ts'
import type { Span } from '../../../src/rollups/spans.ts'
import type { OpenBlock } from '../../../src/score-log/blocks/block.ts'
import { openBlock } from '../../../src/score-log/blocks/block-decoder.ts'
import { PostgresBlockReader } from '../../../src/score-log/blocks/block-store.ts'
import { modelsOf } from '../../../src/score-log/reading/model-text-store.ts'
import {
  type LoggedRequest,
  readLoggedRequest,
} from '../../../src/score-log/record/logged-request.ts'
import { PostgresStatsStore } from '../../../src/stats/store.ts'

/** A request of the log, in either form. */
export interface LoggedFacts {
  readonly requestId: string
  readonly scoredAtMs: number
  readonly applicants: number
}

/** Facts of all requests in the log, oldest first. */
export async function loggedFacts(db: Database): Promise<LoggedFacts[]> {
  const rows = await rowsOf<{ request_id: string; at_ms: number; applicants: number }>(
    db,
    sql`select request_id, ${epochMs(sql`scored_at`)} as at_ms,
        cardinality(served_scores)::integer as applicants
      from score_log`,
  )
  const facts = rows.map((row) => ({
    requestId: row.request_id,
    scoredAtMs: row.at_ms,
    applicants: row.applicants,
  }))
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
  const source = modelsOf(db)
  const requests: LoggedRequest[] = []
  for await (const { block } of loggedBlocks(db)) {
    const models = await source.compiled(block.modelIds)
    for (let index = 0; index < block.count; index++) {
      requests.push(readLoggedRequest(block.payload(index, models), models))
    }
  }
  return requests
}

async function* loggedBlocks(db: Database): AsyncIterable<{ readonly block: OpenBlock }> {
  const all = { fromMs: -Infinity, toMs: Infinity, order: 'oldest' } as const
  for await (const stored of new PostgresBlockReader(db).blocksIn(all)) {
    yield { block: openBlock(stored) }
  }
}

/** Ids of the requests in each table of the log that holds any. */
export async function idsByPartition(db: Database): Promise<Record<string, string[]>> {
  const rows = await rowsOf<{ name: string; ids: string }>(
    db,
    sql`select tableoid::regclass::text as name, json_agg(request_id order by request_id)::text as ids
      from score_log group by 1 order by 1`,
  )
  return Object.fromEntries(rows.map(({ name, ids }) => [name, JSON.parse(ids)]))
}

/** The names of all tables of the log but the default one. */
export async function partitions(db: Database): Promise<string[]> {
  const rows = await rowsOf<{ name: string }>(
    db,
    sql`select inhrelid::regclass::text as name from pg_inherits
      where inhparent = 'score_log'::regclass order by 1`,
  )
  return rows.map(({ name }) => name).filter((name) => name !== 'score_log_default')
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
  const rollups = await new PostgresStatsStore(db).rollups(deploymentId, [range])
  return mergedRollup(rollups.map(({ rollup }) => rollup))
}
