import { sql } from 'drizzle-orm'
import { deploymentHash, readSums } from '../../log/index.ts'
import { DatabaseStore, epochMs, momentText, queryRows } from '../../platform/db/client.ts'
import { parseStoredJson } from '../../platform/json.ts'
import { intervalStart } from '../monitoring/calendar.ts'
import type { CardTexts } from './feature-labels.ts'
import type {
  MadeFacts,
  OverviewFacts,
  OverviewPage,
  OverviewRow,
  OverviewSubject,
  WeekVolume,
} from './overview.ts'

type Row = Record<string, unknown>

/** Keeps sums of the largest scores within the range of a double, and alters no digit. */
const SCALE = 2 ** 64

/** Facts of overviews in PostgreSQL. */
export class OverviewStore extends DatabaseStore {
  async page({ teamId, environment, limit, after }: OverviewPage): Promise<OverviewRow[]> {
    const inEnvironment = environment === null ? sql`true` : sql`d.environment = ${environment}`
    const follows =
      after === null
        ? sql`true`
        : sql`(rank, id collate "C") < (${after.level}::integer, ${after.id}::text)`
    const rows = await queryRows<Row>(
      this.db,
      sql`with listed as (
          select d.id, d.name, d.environment, d.is_active, d.shadow_mode, d.cutoff,
            d.champion_model_id, a.is_on, a.verdict, a.n, a.psi, a.days,
            ${epochMs(sql`a.evaluated_at`)} as evaluated_at, ${epochMs(sql`a.changed_at`)} as changed_at,
            greatest(coalesce(o.level, 1), case when not a.is_on then 0
              when a.verdict = 'major_shift' then 3 when a.verdict = 'moderate_shift' then 2
              else 0 end) as rank
          from deployments as d
          left join overviews as o on o.deployment_id = d.id
          left join stability_alarms as a on a.deployment_id = d.id
          where d.team_id = ${teamId} and ${inEnvironment}),
        page as (select * from listed where ${follows}
          order by rank desc, id collate "C" desc limit ${limit})
        select page.*, m.name as model_name, m.version as model_version, o.facts::text as facts,
          ${epochMs(sql`o.made_at`)} as made_at,
          (select coalesce(json_agg(json_build_object('id', c.id, 'model_id', c.model_id,
              'version', cm.version, 'traffic_pct', c.traffic_pct) order by c.added_at, c.id), '[]')
            from challengers as c join models as cm on cm.id = c.model_id
            where c.deployment_id = page.id and c.is_active)::text as challengers,
          (select count(*) from change_requests as r where r.deployment_id = page.id
            and r.state = 'waiting' and r.expires_at > now())::float8 as waiting,
          last_change.action, last_change.at as last_at
        from page join models as m on m.id = page.champion_model_id
        left join overviews as o on o.deployment_id = page.id
        left join lateral (select action, ${epochMs(sql`created_at`)} as at from audit_log
          where subject = page.id collate "default" and action like 'deployment.%' and team_id = ${teamId}
          order by created_at desc, position desc limit 1) as last_change on true
        order by page.rank desc, page.id collate "C" desc`,
    )
    return rows.map(overviewRow)
  }

  /** One statement: a block is either in the rollups, or its own sums are there. */
  async volumes(deploymentIds: readonly string[], fromMs: number): Promise<WeekVolume[]> {
    if (deploymentIds.length === 0) return []
    const ids = JSON.stringify(deploymentIds)
    const hashes = sql.raw(`'{${deploymentIds.map(deploymentHash).join(',')}}'::integer[]`)
    const scale = sql.raw(`power(2::float8, -64)`)
    const rows = await queryRows<Row>(
      this.db,
      sql`select deployment_id, ${epochMs(sql`date_trunc('week', starts_at at time zone 'UTC') at time zone 'UTC'`)} as start_ms,
          sum(result_count) as n, sum(case when abs(score_avg) < 1e-200 then 0
            else score_avg * ${scale} * result_count end) as total, null::bytea as sums
        from score_rollups
        where span = 'day' and starts_at >= ${momentText(fromMs)}
          and deployment_id in (select json_array_elements_text(${ids}::json) collate "C")
        group by 1, 2
        union all
        select null, null, null, null, sums from score_sums
        where first_at >= ${momentText(fromMs)} and deployments && ${hashes}`,
    )
    const wanted = new Set(deploymentIds)
    const weeks = new Map<
      string,
      { deploymentId: string; startMs: number; n: number; total: number }
    >()
    const add = (deploymentId: string, startMs: number, n: number, total: number) => {
      const name = `${deploymentId} ${startMs}`
      const week = weeks.get(name) ?? { deploymentId, startMs, n: 0, total: 0 }
      weeks.set(name, week)
      week.n += n
      week.total += total
    }
    for (const { deployment_id, start_ms, n, total, sums } of rows) {
      if (sums === null) add(String(deployment_id), Number(start_ms), Number(n), Number(total))
      else {
        for (const minute of readSums(Buffer.from(sums as Uint8Array))) {
          const { resultCount, scoreAvg } = minute.rollup
          if (!wanted.has(minute.deploymentId) || minute.startsAtMs < fromMs) continue
          const startMs = intervalStart('week', minute.startsAtMs)
          add(minute.deploymentId, startMs, resultCount, (scoreAvg / SCALE) * resultCount)
        }
      }
    }
    return [...weeks.values()].map(({ total, ...week }) => ({
      ...week,
      meanScore: (total / week.n) * SCALE,
    }))
  }

  /** The texts of a card by which people know its features. */
  async cardTexts(modelId: string): Promise<CardTexts> {
    const [row] = await queryRows<Row>(
      this.db,
      sql`select json_build_object('codes', spec -> 'reason_codes', 'features',
          (select json_agg(json_build_object('name', one -> 'name', 'label', one -> 'label',
            'code', one -> 'reason_code')) from json_array_elements(spec -> 'features') as one)
        )::text as texts from models where id = ${modelId}`,
    )
    if (row === undefined) return { codes: null, features: [] }
    return parseStoredJson(String(row['texts'])) as CardTexts
  }

  /** Takes the deployment that waits longest, unless another process has it; null if none does. */
  async take(runner: string, leaseMs: number): Promise<OverviewSubject | null> {
    await this.db.execute(sql`insert into overviews (deployment_id, team_id, due_at)
      select id, team_id, now() from deployments as d
      where not exists (select 1 from overviews as o where o.deployment_id = d.id)
      on conflict do nothing`)
    const [row] = await queryRows<Row>(
      this.db,
      sql`with taken as (update overviews set runner = ${runner},
            leased_until = now() + ${leaseMs}::float8 * interval '1 millisecond'
          where deployment_id = (select deployment_id from overviews
            where due_at <= now() and (leased_until is null or leased_until < now())
            order by due_at limit 1 for update skip locked)
          returning deployment_id, team_id, basis)
        select taken.*, d.champion_model_id, d.cutoff, a.watch, a.act,
          (select id from model_baselines where model_id = d.champion_model_id
            order by id desc limit 1) as baseline_id,
          (select id from outcome_definitions where team_id = taken.team_id and used_at is not null
            order by used_at, id limit 1) as definition,
          case when exists (select 1 from outcome_applicants as applicant
              where applicant.team_id = taken.team_id
                and applicant.deployment_id = taken.deployment_id)
            then (select max(revision) from outcomes) end::float8 as outcome_revision
        from taken join deployments as d on d.id = taken.deployment_id
        left join stability_alarms as a on a.deployment_id = taken.deployment_id`,
    )
    if (row === undefined) return null
    return {
      deploymentId: String(row['deployment_id']),
      teamId: String(row['team_id']),
      championId: String(row['champion_model_id']),
      cutoff: row['cutoff'] as number | null,
      watch: row['watch'] as number | null,
      act: row['act'] as number | null,
      baselineId: row['baseline_id'] as string | null,
      definition: row['definition'] as string | null,
      outcomeRevision: row['outcome_revision'] as number | null,
      basis: row['basis'] as string | null,
    }
  }

  /** Keeps facts; null: they are as they were. */
  async finish(
    { deploymentId }: OverviewSubject,
    runner: string,
    made: MadeFacts | null,
  ): Promise<void> {
    const set =
      made === null
        ? sql``
        : sql`facts = ${JSON.stringify(made.facts)}::json, level = ${made.level},
            basis = ${made.basis},`
    await this.db.execute(sql`update overviews set ${set} made_at = now(), runner = null,
        leased_until = null, due_at = date_trunc('hour', now()) + interval '1 hour'
      where deployment_id = ${deploymentId} and runner = ${runner}`)
  }

  async postpone(deploymentId: string, runner: string, ms: number): Promise<void> {
    await this.db.execute(sql`update overviews set runner = null, leased_until = null,
        due_at = now() + ${ms}::float8 * interval '1 millisecond'
      where deployment_id = ${deploymentId} and runner = ${runner}`)
  }
}

function overviewRow(row: Row): OverviewRow {
  const number = (name: string) => row[name] as number | null
  return {
    id: String(row['id']),
    name: String(row['name']),
    environment: row['environment'] as OverviewRow['environment'],
    isActive: row['is_active'] === true,
    shadowMode: row['shadow_mode'] === true,
    cutoff: number('cutoff'),
    champion: {
      id: String(row['champion_model_id']),
      name: String(row['model_name']),
      version: String(row['model_version']),
    },
    challengers: parseStoredJson(String(row['challengers'])) as OverviewRow['challengers'],
    level: Number(row['rank']),
    facts: row['facts'] === null ? null : (parseStoredJson(String(row['facts'])) as OverviewFacts),
    madeAtMs: number('made_at'),
    alarm:
      row['is_on'] === null
        ? null
        : {
            isOn: row['is_on'] === true,
            verdict: row['verdict'] as NonNullable<OverviewRow['alarm']>['verdict'],
            n: number('n'),
            psi: number('psi'),
            days: Number(row['days']),
            evaluatedAtMs: number('evaluated_at'),
            changedAtMs: number('changed_at'),
          },
    waitingChanges: Number(row['waiting']),
    lastChange:
      row['action'] === null
        ? null
        : { atMs: Number(row['last_at']), action: String(row['action']) },
  }
}
