import { sql } from 'drizzle-orm'
import type { Environment } from '../../http/access/caller.ts'
import { DatabaseStore, epochMs, momentText, queryRows } from '../../platform/db/client.ts'
/** A deployment as it was at a moment, as far as the audit log tells. */
export interface DeploymentState {
  readonly name: string
  readonly environment: Environment
  readonly champion: { readonly id: string; readonly name: string; readonly version: string }
  readonly cutoff: number | null
  /** Levels of its alarm; null if none was set. */
  readonly watch: number | null
  readonly act: number | null
}

export interface LoggedChange {
  readonly atMs: number
  readonly action: string
  readonly reason: string | null
}

/** Changes that a report names; of more the newest. */
const CHANGES_MAX = 500

interface StateRow {
  readonly name: string
  readonly environment: Environment
  readonly model_id: string
  readonly model_name: string
  readonly version: string
  readonly cutoff: number | null
  readonly watch: number | null
  readonly act: number | null
}

/** Questions of monthly reports to the audit log in PostgreSQL. */
export class ReportStore extends DatabaseStore {
  /** As of the newest change until the moment; before the first change, as that left it. */
  async stateAt(
    teamId: string,
    deploymentId: string,
    atMs: number,
  ): Promise<DeploymentState | null> {
    const own = sql`team_id = ${teamId} and subject = ${deploymentId}`
    const until = sql`created_at <= ${momentText(atMs)}`
    const newest = sql`order by created_at desc, position desc limit 1`
    const [row] = await queryRows<StateRow>(
      this.db,
      sql`select coalesce(s.state ->> 'name', d.name) as name, d.environment, m.id as model_id,
          m.name as model_name, m.version, (s.state ->> 'cutoff')::float8 as cutoff,
          (l.levels ->> 'watch')::float8 as watch, (l.levels ->> 'act')::float8 as act
        from deployments as d
        join lateral (select "after" as state from audit_log where ${own}
          and action like 'deployment.%' and "after" ->> 'champion_model_id' is not null
          order by ${until} desc, case when ${until} then created_at end desc nulls last,
            case when ${until} then position end desc nulls last, created_at, position
          limit 1) as s on true
        join models as m on m.id = s.state ->> 'champion_model_id'
        left join lateral (select "after" as levels from audit_log where ${own} and ${until}
          and action = 'deployment.set_alarm' and action like 'deployment.%' ${newest}
        ) as l on true
        where d.team_id = ${teamId} and d.id = ${deploymentId}`,
    )
    if (row === undefined) return null
    const { name, environment, cutoff, watch, act } = row
    const champion = { id: row.model_id, name: row.model_name, version: row.version }
    return { name, environment, champion, cutoff, watch, act }
  }

  async changes(
    teamId: string,
    deploymentId: string,
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  ): Promise<LoggedChange[]> {
    const rows = await queryRows<{ at_ms: number; action: string; reason: string | null }>(
      this.db,
      sql`select ${epochMs(sql`created_at`)} as at_ms, action, reason from audit_log
        where team_id = ${teamId} and subject = ${deploymentId} and action like 'deployment.%'
          and created_at >= ${momentText(fromMs)} and created_at < ${momentText(toMs)}
        order by created_at desc, position desc limit ${CHANGES_MAX}`,
    )
    return rows.reverse().map(({ at_ms, action, reason }) => ({ atMs: at_ms, action, reason }))
  }

  /** The first definition of outcomes that a team used until a moment; null without one. */
  async firstDefinition(teamId: string, untilMs: number): Promise<string | null> {
    const [row] = await queryRows<{ id: string }>(
      this.db,
      sql`select id from outcome_definitions where team_id = ${teamId}
        and used_at <= ${momentText(untilMs)} order by used_at, id limit 1`,
    )
    return row?.id ?? null
  }
}
