import { type SQL, sql } from 'drizzle-orm'
import { type Database, rowsOf } from '../../platform/db/client.ts'
import { epochMs } from '../../rollups/rollup-rows.ts'
import { type FirstFormRow, traceOf } from './first-form.ts'
import type { ScanQuery } from './log-query.ts'
import type {
  FirstFormFind,
  FirstFormScan,
  FirstFormSearch,
  FirstFormStore,
  SearchedPart,
} from './log-rows.ts'

/** Applicants of a portion of a scan; the last request may add a batch more. */
const PORTION_APPLICANTS = 2_000
/** Rows of the log that one statement of a search looks at. */
const SEARCHED_ROWS = 20_000
/** Bytes of batches that it reads, as they are stored; one batch more can be larger. */
const SEARCHED_BYTES = 8 * 1024 * 1024

const COLUMNS = sql`request_id, ${epochMs(sql`scored_at`)} as scored_at_ms, latency_ms, team_id,
  deployment_id, key_id, cache_version, bucket, is_batch, served_model_id, results::text as results`

/** The first form of the log, in the table `score_log`. */
export class PostgresFirstFormStore implements FirstFormStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async find({ requestId, fromMs, toMs }: FirstFormFind): Promise<FirstFormRow | null> {
    const [row] = await rowsOf<FirstFormRow>(
      this.db,
      sql`select ${COLUMNS} from score_log
        where request_id = ${requestId} and scored_at >= ${moment(fromMs)}
          and scored_at < ${moment(toMs)}`,
    )
    return row ?? null
  }

  /** Counts applicants before it reads their results, because a batch can be large. */
  portion({ teamId, deploymentId, fromMs, toMs, after }: FirstFormScan): Promise<FirstFormRow[]> {
    const whose = whoseOf(teamId, deploymentId)
    const start = after === null ? sql`true` : sql`(scored_at, request_id) > ${position(after)}`
    return rowsOf<FirstFormRow>(
      this.db,
      sql`select ${COLUMNS} from (
          select *, sum(cardinality(served_scores) + 1)
            over (order by scored_at, request_id) - cardinality(served_scores) as older
          from (
            select * from score_log
            where ${whose} and scored_at >= ${moment(fromMs)} and scored_at < ${moment(toMs)}
              and ${start}
            order by scored_at, request_id limit ${PORTION_APPLICANTS}
          ) as requests
        ) as counted
        where older <= ${PORTION_APPLICANTS} order by scored_at_ms, request_id`,
    )
  }

  /** Only batches have a reference in this form: the ids of their records. */
  async search(query: FirstFormSearch): Promise<SearchedPart> {
    const { teamId, deploymentId, reference, fromMs, toMs, before } = query
    const end =
      before === null
        ? sql`true`
        : sql`scored_at <= ${moment(before.scoredAtMs)}
            and (scored_at, request_id) < ${position(before)}`
    const traces = traceOf(reference).map((text) => sql`strpos(results::text, ${text}) > 0`)
    const ofDeployment = deploymentId === null ? sql`true` : sql`deployment_id = ${deploymentId}`
    const rows = await rowsOf<FirstFormRow & { is_match: boolean }>(
      this.db,
      sql`with part as materialized (
          select *, case when team_id = ${teamId} and is_batch
              then pg_column_size(results) else 0 end as searched_bytes
          from (
            select * from score_log
            where ${ofDeployment} and scored_at >= ${moment(fromMs)}
              and scored_at < ${moment(toMs)} and ${end}
            order by scored_at desc, request_id desc limit ${SEARCHED_ROWS}
          ) as newest
        ), near as (
          select * from (
            select *, sum(searched_bytes) over (order by scored_at desc, request_id desc)
              - searched_bytes as bytes_before
            from part
          ) as summed
          where bytes_before < ${SEARCHED_BYTES}
        ), oldest as (
          select * from near order by scored_at, request_id limit 1
        ), found as (
          select * from near where searched_bytes > 0 and (${sql.join(traces, sql` or `)})
        )
        select ${COLUMNS}, true as is_match from found
        union all
        select request_id, ${epochMs(sql`scored_at`)}, latency_ms, team_id, deployment_id, key_id,
          cache_version, bucket, is_batch, served_model_id, '' as results, false
        from oldest`,
    )
    const oldest = rows.find(({ is_match }) => !is_match)
    return {
      rows: rows
        .filter(({ is_match }) => is_match)
        .sort((a, b) => b.scored_at_ms - a.scored_at_ms || (a.request_id < b.request_id ? 1 : -1)),
      next:
        oldest === undefined
          ? null
          : { scoredAtMs: oldest.scored_at_ms, requestId: oldest.request_id },
    }
  }

  async timeBehind(
    { teamId, deploymentId, fromMs, toMs }: ScanQuery,
    requests: number,
  ): Promise<number | null> {
    const [row] = await rowsOf<{ at_ms: number }>(
      this.db,
      sql`select ${epochMs(sql`scored_at`)} as at_ms from score_log
        where ${whoseOf(teamId, deploymentId)} and scored_at >= ${moment(fromMs)}
          and scored_at < ${moment(toMs)}
        order by scored_at desc, request_id desc offset ${requests}::integer limit 1`,
    )
    return row?.at_ms ?? null
  }

  async deploymentsOf(teamId: string): Promise<string[]> {
    const rows = await rowsOf<{ id: string }>(
      this.db,
      sql`select id from deployments where team_id = ${teamId}`,
    )
    return rows.map(({ id }) => id)
  }
}

function whoseOf(teamId: string, deploymentId: string | null): SQL {
  return deploymentId === null ? sql`team_id = ${teamId}` : sql`deployment_id = ${deploymentId}`
}

function position({ scoredAtMs, requestId }: { scoredAtMs: number; requestId: string }): SQL {
  return sql`(${moment(scoredAtMs)}::timestamptz, ${requestId}::text collate "C")`
}

function moment(ms: number): string {
  if (Number.isFinite(ms)) return new Date(ms).toISOString()
  return ms < 0 ? '-infinity' : 'infinity'
}
