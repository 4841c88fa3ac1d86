import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { Environment } from '../../http/access/caller.ts'
import { ROLLUP_COLUMNS, rollupOfRow, rollupsOfSums, selectUnsummed } from '../../log/database.ts'
import type { Rollup, RollupRow, Span, SpanRange, TimeRange } from '../../log/index.ts'
import { DatabaseStore, epochMs, momentText, queryRows } from '../../platform/db/client.ts'
import { deployments } from '../../tables/deployments.ts'

/** A rollup of one minute, hour or day. */
export interface SpanRollup {
  readonly span: Span
  readonly startsAtMs: number
  readonly rollup: Rollup
}

interface SumsRow {
  readonly sums: Uint8Array
  readonly block_id: string
  readonly first_at_ms: number
}

/** Statistics from the rollups in PostgreSQL. */
export class StatsStore extends DatabaseStore {
  /** @returns null if the team has no such deployment */
  async findEnvironment(teamId: string, deploymentId: string): Promise<Environment | null> {
    const [row] = await this.db
      .select({ environment: deployments.environment })
      .from(deployments)
      .where(and(eq(deployments.teamId, teamId), eq(deployments.id, deploymentId)))
    return row?.environment ?? null
  }

  /** One statement: a block is either in the rollups, or its own sums are there. */
  async rollups(deploymentId: string, spans: readonly SpanRange[]): Promise<SpanRollup[]> {
    const parts = spans.map(
      ({ span, ...range }) => sql`(span = ${span} and ${within(sql`starts_at`, range)})`,
    )
    const rows = await queryRows<RollupRow | SumsRow>(
      this.db,
      sql`select ${ROLLUP_COLUMNS}, null::bytea as sums, null::text as block_id,
          null::float8 as first_at_ms from score_rollups
        where deployment_id = ${deploymentId} and (${sql.join(parts, sql` or `)})
        union all
        select ${ROLLUP_NULLS}, sums, block_id::text, ${epochMs(sql`first_at`)}
        from score_sums where ${selectUnsummed(deploymentId, spans)}`,
    )
    const sums = rows.flatMap((row) =>
      'sums' in row && row.sums !== null
        ? [{ blockId: row.block_id, firstAtMs: row.first_at_ms, sums: row.sums }]
        : [],
    )
    const summed = rows.flatMap((row) => ('span' in row && row.span !== null ? [row] : []))
    return [
      ...summed.map((row) => ({
        span: row.span as Span,
        startsAtMs: row.starts_at_ms,
        rollup: rollupOfRow(row),
      })),
      ...rollupsOfSums(sums, deploymentId, spans),
    ]
  }
}

/** The columns of a rollup, for a row that is none. */
const ROLLUP_NULLS = sql.raw(
  `null::text as deployment_id, null::text as span, ${Array.from({ length: 9 }, () => 'null::float8').join(', ')},
    null::text as score_buckets, null::text as latency_buckets`,
)

function within(column: SQL, { fromMs, toMs }: TimeRange): SQL {
  return sql`${column} >= ${momentText(fromMs)} and ${column} < ${momentText(toMs)}`
}
