import { and, eq, inArray, sql } from 'drizzle-orm'
import { HISTORY_KINDS } from '../../../../schemas/alarms.ts'
import type { TimeRange } from '../../../log/index.ts'
import { askedRow } from '../../../platform/db/asked-rows.ts'
import {
  type Database,
  momentText,
  queryRows,
  type Transaction,
} from '../../../platform/db/client.ts'
import { parseStoredJson } from '../../../platform/json.ts'
import { models } from '../../../tables/models.ts'
import { stabilityAlarms, stabilityVerdicts } from '../../../tables/stability.ts'
import { VERDICTS, type Verdict } from '../statistics/population-stability.ts'
import type {
  Alarm,
  AlarmCounts,
  HistoryLimits,
  LoggedChange,
  StabilityEvents,
  TakenAlarm,
} from './alarm.ts'
import type { Evaluation } from './verdict.ts'

/** Actions of the audit log that the history shows; a verdict is none of them. */
const CHANGE_ACTIONS = HISTORY_KINDS.filter((kind) => kind !== 'stability_verdict').map(
  (kind) => sql`${`deployment.${kind}`}`,
)
/** Changes of verdicts that stay, for each deployment. */
const VERDICTS_KEPT = 1_000

interface Target {
  readonly teamId: string
  readonly deploymentId: string
}

/** Alarms in PostgreSQL. Leases are on its clock. */
export class AlarmStore {
  private readonly db: Database
  private readonly events: StabilityEvents | null

  /** @param events receives each changed verdict; null: nobody does */
  constructor(db: Database, events: StabilityEvents | null) {
    this.db = db
    this.events = events
  }

  /** Null if its levels were never set. */
  async find(deploymentId: string): Promise<Alarm | null> {
    const [row] = await this.db
      .select()
      .from(stabilityAlarms)
      .where(eq(stabilityAlarms.deploymentId, deploymentId))
    return row ?? null
  }

  /** Takes the alarm that waits longest, unless another process has it; null if none is due. */
  async take(runner: string, leaseMs: number): Promise<TakenAlarm | null> {
    const next = sql`(select deployment_id from stability_alarms
      where is_on and due_at <= now() and (leased_until is null or leased_until < now())
      order by due_at limit 1 for update skip locked)`
    const taken = await this.db
      .update(stabilityAlarms)
      .set({ runner, leasedUntil: sql`now() + ${leaseMs}::float8 * interval '1 millisecond'` })
      .where(eq(stabilityAlarms.deploymentId, next))
      .returning()
    return askedRow(taken, (row) => row.runner === runner)
  }

  /**
   * Keeps what was found, and its event if the verdict is another one. Does nothing if another
   * process has taken the alarm, or its levels were changed meanwhile.
   */
  async finish(taken: TakenAlarm, runner: string, evaluation: Evaluation): Promise<void> {
    const { deploymentId } = taken
    await this.db.transaction(async (tx) => {
      const [row] = await tx
        .select({
          verdict: stabilityAlarms.verdict,
          at: sql<Date>`now()`.mapWith(stabilityAlarms.dueAt),
        })
        .from(stabilityAlarms)
        .where(
          and(eq(stabilityAlarms.deploymentId, deploymentId), eq(stabilityAlarms.runner, runner)),
        )
        .for('update')
      if (row === undefined) return
      const { verdict, n, psi, moved, basis } = evaluation
      const isOther = verdict !== row.verdict
      await tx
        .update(stabilityAlarms)
        .set({
          verdict,
          n,
          psi,
          moved: [...moved],
          basis,
          evaluatedAt: row.at,
          ...(isOther && { changedAt: row.at }),
          dueAt: sql`date_trunc('hour', now()) + interval '1 hour'`,
          runner: null,
          leasedUntil: null,
        })
        .where(eq(stabilityAlarms.deploymentId, deploymentId))
      if (isOther) await this.noteChange(tx, { taken, evaluation, before: row.verdict, at: row.at })
    })
  }

  private async noteChange(tx: Transaction, { taken, evaluation, before, at }: Change) {
    const { deploymentId, teamId, watch, act, days } = taken
    const { verdict: after, n, psi, moved, basis } = evaluation
    const table = stabilityVerdicts
    await tx
      .insert(table)
      .values({ deploymentId, changedAt: at, before, after, n, psi, moved: [...moved] })
    await tx.execute(sql`delete from stability_verdicts where deployment_id = ${deploymentId}
      and changed_at <= (select changed_at from stability_verdicts
        where deployment_id = ${deploymentId} order by changed_at desc
        limit 1 offset ${VERDICTS_KEPT})`)
    await this.events?.add(tx, {
      type: 'stability.verdict_changed',
      teamId,
      deploymentId,
      at,
      before,
      after,
      n,
      psi,
      moved,
      basis,
      thresholds: { watch, act },
      days,
    })
  }

  /** Gives an alarm back that could not be evaluated. */
  async postpone(deploymentId: string, runner: string, ms: number): Promise<void> {
    await this.db.execute(sql`update stability_alarms
      set due_at = now() + ${ms}::float8 * interval '1 millisecond', runner = null,
        leased_until = null
      where deployment_id = ${deploymentId} and runner = ${runner}`)
  }

  async counts(): Promise<AlarmCounts> {
    const rows = await queryRows<{ verdict: Verdict | null; n: number; overdue: number }>(
      this.db,
      sql`select verdict, count(*)::float8 as n,
          (count(*) filter (where due_at < now() - interval '1 hour'))::float8 as overdue
        from stability_alarms where is_on group by verdict`,
    )
    const countVerdicts = (wanted: Verdict | null) =>
      rows.find(({ verdict }) => verdict === wanted)?.n ?? 0
    const named = VERDICTS.map((verdict) => [verdict, countVerdicts(verdict)] as const)
    return {
      byVerdict: {
        ...(Object.fromEntries(named) as Record<Verdict, number>),
        none: countVerdicts(null),
      },
      overdue: rows.reduce((sum, { overdue }) => sum + overdue, 0),
    }
  }

  /** The newest changes and verdicts of a deployment in a range, together and oldest first. */
  async changes(
    { teamId, deploymentId }: Target,
    { fromMs, toMs }: TimeRange,
    limits: HistoryLimits,
  ): Promise<readonly LoggedChange[]> {
    const rows = await queryRows<ChangeRow>(
      this.db,
      sql`select at_ms, kind, state, verdict from (
          (select (extract(epoch from created_at) * 1000)::float8 as at_ms, position,
            substr(action, length('deployment.') + 1) as kind,
            "after"::text as state, null as verdict
          from audit_log
          where team_id = ${teamId} and subject = ${deploymentId}
            and action in (${sql.join(CHANGE_ACTIONS, sql`, `)})
            and created_at >= ${momentText(fromMs)} and created_at < ${momentText(toMs)}
          order by created_at desc, position desc limit ${limits.changes})
          union all
          (select (extract(epoch from changed_at) * 1000)::float8, null, 'stability_verdict', null,
            "after"
          from stability_verdicts
          where deployment_id = ${deploymentId}
            and changed_at >= ${momentText(fromMs)} and changed_at < ${momentText(toMs)}
          order by changed_at desc limit ${limits.verdicts})
        ) as found order by at_ms desc, position desc nulls last`,
    )
    return rows.reverse().map(({ at_ms, kind, state, verdict }) => ({
      at: new Date(at_ms),
      kind,
      // Written by `auditedState`.
      state: state === null ? null : parseStoredJson(state),
      verdict,
    }))
  }

  /** Versions of models of the team, by id. */
  async findVersions(teamId: string, modelIds: readonly string[]) {
    if (modelIds.length === 0) return new Map<string, string>()
    const rows = await this.db
      .select({ id: models.id, version: models.version })
      .from(models)
      .where(and(eq(models.teamId, teamId), inArray(models.id, [...modelIds])))
    return new Map(rows.map(({ id, version }) => [id, version]))
  }
}

interface Change {
  readonly taken: TakenAlarm
  readonly evaluation: Evaluation
  readonly before: Verdict | null
  readonly at: Date
}

interface ChangeRow {
  readonly at_ms: number
  readonly kind: string
  readonly state: string | null
  readonly verdict: Verdict | null
}
