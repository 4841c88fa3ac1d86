import { type SQL, sql } from 'drizzle-orm'
import type { Environment } from '../../http/access/caller.ts'
import type { ScoredApplicant, ScoringPlace } from '../../outcomes/applicant.ts'
import {
  APPLICANT_COLUMNS,
  type ApplicantRow,
  applicantOfRow,
} from '../../outcomes/applicant-rows.ts'
import { DatabaseStore, epochMs, momentText, queryRows } from '../../platform/db/client.ts'
import { parseStoredJson } from '../../platform/json.ts'
import type { CurrentPerformance, LabelledQuery, ScoringFacts } from './labelled.ts'

export interface DeploymentFacts {
  readonly environment: Environment
  /** Id of its champion. */
  readonly champion: string
}

interface FactsRow {
  readonly request_id: string
  readonly record_index: number
  readonly scored_at_ms: number
  readonly reference_hash: string | null
  readonly performance: string | null
  readonly performed_at_ms: number | null
  readonly performed_revision: number | null
  readonly decision: string | null
  readonly decided_at_ms: number | null
  readonly decided_revision: number | null
}

const PORTION_ROWS = 2_000
const FIRST = { scoredAtMs: Number.NEGATIVE_INFINITY, requestId: '', recordIndex: 0 }

/** Outcomes with their applicants in PostgreSQL. */
export class PerformanceStore extends DatabaseStore {
  /** Null if the team has no such deployment. */
  async deployment(teamId: string, deploymentId: string): Promise<DeploymentFacts | null> {
    const [row] = await queryRows<{ environment: Environment; champion: string }>(
      this.db,
      sql`select environment, champion_model_id as champion from deployments
        where team_id = ${teamId} and id = ${deploymentId}`,
    )
    return row === undefined ? null : row
  }

  async hasModel(teamId: string, modelId: string, environment: Environment): Promise<boolean> {
    const rows = await queryRows<{ id: string }>(
      this.db,
      sql`select id from models where team_id = ${teamId} and id = ${modelId}
        and environment = ${environment}`,
    )
    return rows.length > 0
  }

  /** Active challengers, oldest first. */
  async challengers(deploymentId: string) {
    const rows = await queryRows<{ id: string; model_id: string }>(
      this.db,
      sql`select id, model_id from challengers where deployment_id = ${deploymentId} and is_active
        order by added_at, id`,
    )
    return rows.map((row) => ({ challengerId: row.id, modelId: row.model_id }))
  }

  /** AUC of the development sample that is kept with a model; null without one. */
  async developmentAuc(modelId: string): Promise<number | null> {
    const [row] = await queryRows<{ auc: number | null }>(
      this.db,
      sql`select development_auc as auc from models where id = ${modelId}`,
    )
    return row?.auc ?? null
  }

  /** The next scorings with what is known of them, the oldest first; empty at the end. */
  async facts(query: LabelledQuery, after: ScoringPlace | null): Promise<ScoringFacts[]> {
    const { definition, asKnownAtMs } = query
    const newest = sql`order by as_of desc, revision desc limit 1`
    const known = sql`applicant_id = page.id and recorded_at <= ${momentText(asKnownAtMs)}`
    const atMs = epochMs(sql`as_of`)
    const rows = await queryRows<FactsRow>(
      this.db,
      sql`select request_id, record_index, ${epochMs(sql`scored_at`)} as scored_at_ms,
          reference_hash, performed.content as performance, performed.at_ms as performed_at_ms,
          performed.revision as performed_revision, decided.content as decision,
          decided.at_ms as decided_at_ms, decided.revision as decided_revision
        from (select id, request_id, record_index, scored_at, reference_hash
          from outcome_applicants where ${makeCondition(query)} and ${placed('>', after ?? FIRST)}
          order by scored_at, request_id, record_index limit ${PORTION_ROWS}) as page
        left join lateral (
          select content::text as content, ${atMs} as at_ms, revision::float8 as revision
          from outcomes where ${known} and definition = ${definition}
            and not exists (select 1 from outcomes as withdrawn
              where withdrawn.applicant_id = page.id and withdrawn.definition = ${definition}
                and withdrawn.as_of = outcomes.as_of and withdrawn.revision >= outcomes.revision
                and withdrawn.recorded_at <= ${momentText(asKnownAtMs)}
                and withdrawn.content ->> 'outcome' = 'withdrawn')
          ${newest}
        ) as performed on true
        left join lateral (
          select content::text as content, ${atMs} as at_ms, revision::float8 as revision
          from outcomes where ${known} and definition = '' ${newest}
        ) as decided on true
        order by scored_at, request_id, record_index`,
    )
    return rows.map((row) => ({
      place: {
        requestId: row.request_id,
        recordIndex: row.record_index,
        scoredAtMs: row.scored_at_ms,
      },
      referenceHash: row.reference_hash,
      performance: readPerformance(row),
      decision: readDecision(row),
    }))
  }

  /** The next scorings with their results, the newest first; empty at the end. */
  async scorings(
    query: Omit<LabelledQuery, 'definition' | 'asKnownAtMs'>,
    before: ScoringPlace | null,
  ): Promise<ScoredApplicant[]> {
    const end = before === null ? sql`true` : placed('<', before)
    const rows = await queryRows<ApplicantRow>(
      this.db,
      sql`select ${APPLICANT_COLUMNS} from outcome_applicants
        where ${makeCondition(query)} and ${end}
        order by scored_at desc, request_id desc, record_index desc limit ${PORTION_ROWS}`,
    )
    return rows.map(applicantOfRow)
  }
}

function makeCondition({
  teamId,
  deploymentId,
  fromMs,
  toMs,
}: Omit<LabelledQuery, 'definition' | 'asKnownAtMs'>): SQL {
  return sql`team_id = ${teamId} and deployment_id = ${deploymentId}
    and scored_at >= ${momentText(fromMs)} and scored_at < ${momentText(toMs)}`
}

function placed(side: '<' | '>', { scoredAtMs, requestId, recordIndex }: ScoringPlace): SQL {
  return sql`(scored_at, request_id, record_index) ${sql.raw(side)}
    (${momentText(scoredAtMs)}::timestamptz, ${requestId} collate "C", ${recordIndex}::integer)`
}

interface StoredContent {
  readonly outcome?: CurrentPerformance['outcome']
  readonly decision?: string
  readonly event_date?: string
  readonly booked_at?: string
}

function readPerformance(row: FactsRow): ScoringFacts['performance'] {
  const { performance, performed_at_ms: asOfMs, performed_revision: revision } = row
  if (performance === null || asOfMs === null || revision === null) return null
  const { outcome, event_date, booked_at } = parseStoredJson(performance) as StoredContent
  if (outcome === undefined) return null
  return {
    outcome,
    asOfMs,
    revision,
    eventAtMs: toMoment(event_date),
    bookedAtMs: toMoment(booked_at),
  }
}

function readDecision(row: FactsRow): ScoringFacts['decision'] {
  const { decision, decided_at_ms: asOfMs, decided_revision: revision } = row
  if (decision === null || asOfMs === null || revision === null) return null
  const { decision: made, booked_at } = parseStoredJson(decision) as StoredContent
  return { isApproved: made === 'approved', bookedAtMs: toMoment(booked_at), asOfMs, revision }
}

function toMoment(text: string | undefined): number | null {
  return text === undefined ? null : Date.parse(text)
}
