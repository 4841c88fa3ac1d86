import { sql } from 'drizzle-orm'
import { queryRows, type Transaction } from '../../../platform/db/client.ts'
import { TurnTaker } from '../../../platform/turn-taker.ts'
import { flatCounts } from '../../rollups/buckets.ts'
import {
  mergeRollup,
  ROLLUP_COLUMNS,
  type Rollup,
  type RollupRow,
  rollupOfRow,
} from '../../rollups/rollup.ts'
import { type KeyedRollup, type RollupKey, rollupKeyText } from '../../rollups/rollup-sums.ts'
import type { Span } from '../../rollups/spans.ts'

export async function addToRollups(tx: Transaction, added: readonly KeyedRollup[]): Promise<void> {
  if (added.length === 0) return
  const stored = await readRollups(tx, added)
  const turns = new TurnTaker()
  const rows: string[] = []
  for (const { rollup, ...key } of added) {
    const before = stored.get(rollupKeyText(key))
    if (before !== undefined) mergeRollup(before, rollup)
    rows.push(rollupJson(key, before ?? rollup))
    await turns.giveWay()
  }
  await tx.execute(sql`insert into score_rollups (deployment_id, span, starts_at,
      request_count, result_count, score_avg, score_min, score_max, pd_avg, latency_avg_ms,
      last_request_at, score_buckets, latency_buckets)
    select d, s, to_timestamp(a / 1000), q, n, sa, sl, sh, p, l,
      to_timestamp(z / 1000), sb, lb
    from json_to_recordset(${`[${rows}]`}::text::json) as r(d text, s text, a float8, q float8,
      n float8, sa float8, sl float8, sh float8, p float8, l float8, z float8, sb json, lb json)
    on conflict (deployment_id, span, starts_at) do update set
      request_count = excluded.request_count, result_count = excluded.result_count,
      score_avg = excluded.score_avg, score_min = excluded.score_min,
      score_max = excluded.score_max, pd_avg = excluded.pd_avg,
      latency_avg_ms = excluded.latency_avg_ms, last_request_at = excluded.last_request_at,
      score_buckets = excluded.score_buckets, latency_buckets = excluded.latency_buckets`)
}

async function readRollups(
  tx: Transaction,
  keys: readonly RollupKey[],
): Promise<Map<string, Rollup>> {
  const wanted = JSON.stringify(
    keys.map(({ deploymentId: d, span: s, startsAtMs: a }) => ({ d, s, a })),
  )
  const rows = await queryRows<RollupRow>(
    tx,
    sql`select known.* from json_to_recordset(${wanted}::text::json) as r(d text, s text, a float8)
      cross join lateral (
        select ${ROLLUP_COLUMNS} from score_rollups
        where deployment_id = d collate "C" and span = s
          and starts_at = to_timestamp(a / 1000) offset 0) as known`,
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
