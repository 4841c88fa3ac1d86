import { sql } from 'drizzle-orm'
import { rowsOf, type Transaction } from '../../platform/db/client.ts'
import { flatCounts } from '../../rollups/counts.ts'
import { mergeRollup, type Rollup } from '../../rollups/rollup.ts'
import { ROLLUP_COLUMNS, type RollupRow, rollupOfRow } from '../../rollups/rollup-rows.ts'
import { type KeyedRollup, type RollupKey, rollupKeyText } from '../../rollups/rollup-sums.ts'
import type { Span } from '../../rollups/spans.ts'
import { TurnTaker } from '../reading/turn-taker.ts'

/** Rollups by the text of their key. */
export type RollupsByKey = ReadonlyMap<string, Rollup>
export const NO_ROLLUPS: RollupsByKey = new Map()

interface AddedRollups {
  /** Names the rows. Nobody else writes them at the same time. */
  readonly writer: string
  readonly added: readonly KeyedRollup[]
  /** Rows of this writer that need not be read. */
  readonly known?: RollupsByKey
}

/**
 * Adds rollups to the rows of one writer.
 *
 * @returns the rows as written
 */
export async function addToRollups(
  tx: Transaction,
  { writer, added, known = NO_ROLLUPS }: AddedRollups,
): Promise<RollupsByKey> {
  const written = new Map<string, Rollup>()
  if (added.length === 0) return written
  const unknown = added.filter((key) => !known.has(rollupKeyText(key)))
  const read = unknown.length === 0 ? NO_ROLLUPS : await readRollups(tx, writer, unknown)
  const turns = new TurnTaker()
  const rows: string[] = []
  for (const { rollup, ...key } of added) {
    const text = rollupKeyText(key)
    const before = known.get(text) ?? read.get(text)
    if (before !== undefined) mergeRollup(before, rollup)
    const now = before ?? rollup
    written.set(text, now)
    rows.push(rollupJson(key, now))
    await turns.giveWay()
  }
  await tx.execute(sql`insert into score_rollups (deployment_id, span, starts_at, writer,
      request_count, result_count, score_avg, score_min, score_max, pd_avg, latency_avg_ms,
      last_request_at, score_buckets, latency_buckets)
    select d, s, to_timestamp(a / 1000), ${writer}, q, n, sa, sl, sh, p, l,
      to_timestamp(z / 1000), sb, lb
    from json_to_recordset(${`[${rows}]`}::text::json) as r(d text, s text, a float8, q float8,
      n float8, sa float8, sl float8, sh float8, p float8, l float8, z float8, sb json, lb json)
    on conflict (deployment_id, span, starts_at, writer) do update set
      request_count = excluded.request_count, result_count = excluded.result_count,
      score_avg = excluded.score_avg, score_min = excluded.score_min,
      score_max = excluded.score_max, pd_avg = excluded.pd_avg,
      latency_avg_ms = excluded.latency_avg_ms, last_request_at = excluded.last_request_at,
      score_buckets = excluded.score_buckets, latency_buckets = excluded.latency_buckets`)
  return written
}

/** Reads the writer's rows with these keys. */
async function readRollups(
  tx: Transaction,
  writer: string,
  keys: readonly RollupKey[],
): Promise<Map<string, Rollup>> {
  const wanted = JSON.stringify(
    keys.map(({ deploymentId: d, span: s, startsAtMs: a }) => ({ d, s, a })),
  )
  const rows = await rowsOf<RollupRow>(
    tx,
    sql`select ${ROLLUP_COLUMNS} from score_rollups
      where writer = ${writer} and (deployment_id, span, starts_at) in (
        select d, s, to_timestamp(a / 1000)
        from json_to_recordset(${wanted}::text::json) as r(d text, s text, a float8))`,
  )
  return new Map(
    rows.map((row) => [
      rollupKeyText({
        deploymentId: row.deployment_id,
        span: row.span as Span,
        startsAtMs: row.starts_at_ms,
      }),
      rollupOfRow(row),
    ]),
  )
}

function rollupJson({ deploymentId, span, startsAtMs }: RollupKey, rollup: Rollup): string {
  return JSON.stringify({
    d: deploymentId,
    s: span,
    a: startsAtMs,
    q: rollup.requestCount,
    n: rollup.resultCount,
    sa: rollup.scoreAvg,
    sl: rollup.scoreMin,
    sh: rollup.scoreMax,
    // JSON has no NaN; PostgreSQL reads it from a text.
    p: Number.isNaN(rollup.pdAvg) ? 'NaN' : rollup.pdAvg,
    l: rollup.latencyAvgMs,
    z: rollup.lastRequestAtMs,
    sb: flatCounts(rollup.scoreBuckets),
    lb: flatCounts(rollup.latencyBuckets),
  })
}
