import { sql } from 'drizzle-orm'
import { type Database, rowsOf, type Transaction } from '../db/client.ts'
import { flatCounts } from './counts.ts'
import type { Appended, LoggedRecord, ScoreLogStore } from './drain.ts'
import { copyOf, mergeRollup, type Rollup, rollupOf } from './rollup.ts'
import { ROLLUP_COLUMNS, type RollupRow, rollupOfRow } from './rollup-rows.ts'
import { SPANS, type Span, spanStart } from './spans.ts'

/** A rollup and the row that it belongs to. */
interface PlacedRollup {
  readonly deploymentId: string
  readonly span: Span
  readonly startsAtMs: number
  readonly rollup: Rollup
}

/** Log and rollups in PostgreSQL. */
export class PostgresScoreLogStore implements ScoreLogStore {
  private readonly db: Database
  private readonly writer: string

  /** @param writer names the rollup rows that only this process writes */
  constructor(db: Database, writer: string) {
    this.db = db
    this.writer = writer
  }

  append(records: readonly LoggedRecord[]): Promise<Appended> {
    return this.db.transaction(async (tx) => {
      // A try that was given up may still be under way on a connection that went silent: it must end
      // before this one reads the rollups. Nobody else takes this lock.
      await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${this.writer}, 1))`)
      const inserted = await insertRecords(tx, records)
      // Deleted as they are met: a record that stands twice in a batch was inserted once.
      const added = records.filter(({ record }) => inserted.delete(record.requestId))
      await this.addToRollups(tx, rollupsOf(added))
      const results = added.reduce((sum, one) => sum + resultsOf(one), 0)
      return { records: added.length, results }
    })
  }

  private async addToRollups(tx: Transaction, added: readonly PlacedRollup[]): Promise<void> {
    if (added.length === 0) return
    const held = await this.heldRollups(tx, added)
    const rows = added.map(({ rollup, ...place }) => {
      const before = held.get(placeText(place))
      if (before !== undefined) mergeRollup(rollup, before)
      return rollupJson(place, rollup)
    })
    await tx.execute(sql`insert into score_rollups (deployment_id, span, starts_at, writer,
        request_count, result_count, score_avg, score_min, score_max, pd_avg, latency_avg_ms,
        last_request_at, score_buckets, latency_buckets)
      select d, s, to_timestamp(a / 1000), ${this.writer}, q, n, sa, sl, sh, p, l,
        to_timestamp(z / 1000), sb, lb
      from json_to_recordset(${`[${rows}]`}::text::json) as r(d text, s text, a float8, q float8,
        n float8, sa float8, sl float8, sh float8, p float8, l float8, z float8, sb json, lb json)
      on conflict (deployment_id, span, starts_at, writer) do update set
        request_count = excluded.request_count, result_count = excluded.result_count,
        score_avg = excluded.score_avg, score_min = excluded.score_min,
        score_max = excluded.score_max, pd_avg = excluded.pd_avg,
        latency_avg_ms = excluded.latency_avg_ms, last_request_at = excluded.last_request_at,
        score_buckets = excluded.score_buckets, latency_buckets = excluded.latency_buckets`)
  }

  /** What this writer's rows at these places hold so far. */
  private async heldRollups(
    tx: Transaction,
    places: readonly Place[],
  ): Promise<Map<string, Rollup>> {
    const wanted = JSON.stringify(
      places.map(({ deploymentId: d, span: s, startsAtMs: a }) => ({ d, s, a })),
    )
    const rows = await rowsOf<RollupRow>(
      tx,
      sql`select ${ROLLUP_COLUMNS} from score_rollups
        where writer = ${this.writer} and (deployment_id, span, starts_at) in (
          select d, s, to_timestamp(a / 1000)
          from json_to_recordset(${wanted}::text::json) as r(d text, s text, a float8))`,
    )
    return new Map(
      rows.map((row) => [
        placeText({
          deploymentId: row.deployment_id,
          span: row.span as Span,
          startsAtMs: row.starts_at_ms,
        }),
        rollupOfRow(row),
      ]),
    )
  }
}

type Place = Omit<PlacedRollup, 'rollup'>

function resultsOf({ record, served }: LoggedRecord): number {
  return served.scores.length * record.modelCount
}

/**
 * All rows as JSON in three parameters, which the driver copies as they are. A row each as parameters, or arrays
 * to unnest, took two to three times its processor time (`bench/scenarios/drain.ts`). Results and grades
 * are elements of arrays of their own, because there PostgreSQL leaves texts as they are: as columns of the
 * record set it would decode them, and refuse a record id with a NUL.
 *
 * @returns the ids of those that were not in the log yet
 */
async function insertRecords(
  tx: Transaction,
  records: readonly LoggedRecord[],
): Promise<Set<string>> {
  const facts = `[${records.map(({ record }) => record.texts.facts)}]`
  const grades = `[${records.map(({ record }) => record.texts.grades)}]`
  const results = `[${records.map(({ record }) => record.texts.results)}]`
  const [added] = await rowsOf<{ count: number; ids: string[] | null }>(
    tx,
    sql`with added as (
        insert into score_log (scored_at, request_id, team_id, deployment_id, key_id, cache_version,
          bucket, latency_ms, is_batch, served_model_id, served_scores, served_pds, served_grades, results)
        select to_timestamp(a / 1000), i, t, d, k, v, b, l, m, s, c::float8[], p::float8[], g, r
        from rows from (
          json_to_recordset(${facts}::text::json) as (a float8, i text, t text, d text, k text,
            v integer, b integer, l float8, m boolean, s text, c text, p text),
          json_array_elements(${grades}::text::json),
          json_array_elements(${results}::text::json)
        ) as r(a, i, t, d, k, v, b, l, m, s, c, p, g, r)
        on conflict do nothing
        returning request_id
      )
      select count(*)::integer as count,
        case when count(*) < ${records.length}::integer then array_agg(request_id) end as ids
      from added`,
  )
  // Nearly always all of them: their ids need not come back.
  if (added?.count === records.length) return new Set(records.map(({ record }) => record.requestId))
  return new Set(added?.ids ?? [])
}

function rollupJson({ deploymentId, span, startsAtMs }: Place, rollup: Rollup): string {
  return JSON.stringify({
    ...{ d: deploymentId, s: span, a: startsAtMs },
    ...{ q: rollup.requestCount, n: rollup.resultCount },
    ...{ sa: rollup.scoreAvg, sl: rollup.scoreMin, sh: rollup.scoreMax, p: rollup.pdAvg },
    ...{ l: rollup.latencyAvgMs, z: rollup.lastRequestAtMs },
    sb: flatCounts(rollup.scoreBuckets),
    lb: flatCounts(rollup.latencyBuckets),
  })
}

/** Minutes first, then hours and days from them; a request without applicants adds to none. */
function rollupsOf(records: readonly LoggedRecord[]): PlacedRollup[] {
  const placed = new Map<string, PlacedRollup>()
  const add = (deploymentId: string, span: Span, atMs: number, more: Rollup) => {
    const place = { deploymentId, span, startsAtMs: spanStart(span, atMs) }
    const held = placed.get(placeText(place))
    if (held !== undefined) mergeRollup(held.rollup, more)
    else placed.set(placeText(place), { ...place, rollup: more })
  }
  for (const { record, served } of records) {
    if (served.scores.length === 0) continue
    add(record.deploymentId, 'minute', record.scoredAtMs, rollupOf(served))
  }
  for (const [finer, span] of [
    [SPANS[0], SPANS[1]],
    [SPANS[1], SPANS[2]],
  ] as const) {
    for (const { deploymentId, startsAtMs, rollup, ...place } of [...placed.values()]) {
      if (place.span === finer) add(deploymentId, span, startsAtMs, copyOf(rollup))
    }
  }
  return [...placed.values()]
}

/** Ids hold no blank. */
function placeText({ deploymentId, span, startsAtMs }: Place): string {
  return `${deploymentId} ${span} ${startsAtMs}`
}
