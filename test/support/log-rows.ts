import { sql } from 'drizzle-orm'
import { type Database, rowsOf } from '../../src/db/client.ts'
import type { Rollup } from '../../src/scorelog/rollup.ts'
import { mergedRollup } from '../../src/scorelog/rollup.ts'
import { ROLLUP_COLUMNS, type RollupRow, rollupOfRow } from '../../src/scorelog/rollup-rows.ts'
import type { Span } from '../../src/scorelog/spans.ts'

/** Ids of all requests in the log, oldest first. */
export async function loggedIds(db: Database): Promise<string[]> {
  const rows = await rowsOf<{ request_id: string }>(
    db,
    sql`select request_id from score_log order by scored_at, request_id`,
  )
  return rows.map((row) => row.request_id)
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

/** What the rollups of one span say of a deployment, of all time and all writers. */
export async function rollupOver(
  db: Database,
  span: Span,
  deploymentId: string,
): Promise<Rollup | null> {
  const rows = await rowsOf<RollupRow>(
    db,
    sql`select ${ROLLUP_COLUMNS} from score_rollups
      where span = ${span} and deployment_id = ${deploymentId}`,
  )
  return mergedRollup(rows.map(rollupOfRow))
}
