import { sql } from 'drizzle-orm'
import type { Environment } from '../access/caller.ts'
import { APPLICANT_COLUMNS, type ApplicantRow, applicantOfRow } from '../outcomes/applicant-rows.ts'
import { type Database, rowsOf } from '../platform/db/client.ts'
import { parseStoredJson } from '../platform/json.ts'
import { epochMs, momentText } from '../rollups/rollup-rows.ts'
import type {
  CurrentDecision,
  CurrentPerformance,
  LabelledPortion,
  LabelledPosition,
  LabelledQuery,
  LabelledStore,
} from './labelled.ts'
import type { DeploymentFacts, PerformanceStore } from './service.ts'

type LabelledRow = ApplicantRow & {
  readonly performance: string | null
  readonly as_of_ms: number | null
  readonly decision: string | null
}

const PORTION_ROWS = 2_000
const FIRST = { scoredAtMs: Number.NEGATIVE_INFINITY, requestId: '', recordIndex: 0 }

/** Outcomes with their applicants in PostgreSQL. */
export class PostgresPerformanceStore implements LabelledStore, PerformanceStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async deployment(teamId: string, deploymentId: string): Promise<DeploymentFacts | null> {
    const [row] = await rowsOf<{ environment: Environment; champion: string }>(
      this.db,
      sql`select environment, champion_model_id as champion from deployments
        where team_id = ${teamId} and id = ${deploymentId}`,
    )
    return row === undefined ? null : row
  }

  async hasModel(teamId: string, modelId: string, environment: Environment): Promise<boolean> {
    const rows = await rowsOf<{ id: string }>(
      this.db,
      sql`select id from models where team_id = ${teamId} and id = ${modelId}
        and environment = ${environment}`,
    )
    return rows.length > 0
  }

  async portion(query: LabelledQuery, after: LabelledPosition | null): Promise<LabelledPortion> {
    const { teamId, deploymentId, definition, fromMs, toMs, asKnownAtMs } = query
    const start = after ?? FIRST
    const newest = sql`order by as_of desc, revision desc limit 1`
    const known = sql`applicant_id = page.id and recorded_at <= ${momentText(asKnownAtMs)}`
    const rows = await rowsOf<LabelledRow>(
      this.db,
      sql`select ${APPLICANT_COLUMNS},
          performed.content::text as performance, ${epochMs(sql`performed.as_of`)} as as_of_ms,
          decided.content::text as decision
        from (select * from outcome_applicants
          where team_id = ${teamId} and deployment_id = ${deploymentId}
            and scored_at >= ${momentText(fromMs)} and scored_at < ${momentText(toMs)}
            and (scored_at, request_id, record_index) > (${momentText(start.scoredAtMs)}::timestamptz,
              ${start.requestId} collate "C", ${start.recordIndex}::integer)
          order by scored_at, request_id, record_index limit ${PORTION_ROWS}) as page
        left join lateral (select content, as_of from outcomes
          where ${known} and definition = ${definition} ${newest}) as performed on true
        left join lateral (select content from outcomes
          where ${known} and definition = '' ${newest}) as decided on true
        order by scored_at, request_id, record_index`,
    )
    const last = rows.length < PORTION_ROWS ? undefined : rows.at(-1)
    return {
      applicants: rows.map((row) => ({
        applicant: applicantOfRow(row),
        performance: performanceOf(row),
        decision: decisionOf(row),
      })),
      next: last === undefined ? null : positionOf(last),
    }
  }
}

function positionOf({ scored_at_ms, request_id, record_index }: LabelledRow): LabelledPosition {
  return { scoredAtMs: scored_at_ms, requestId: request_id, recordIndex: record_index }
}

interface StoredContent {
  readonly outcome?: CurrentPerformance['outcome']
  readonly decision?: string
  readonly event_date?: string
  readonly booked_at?: string
}

function performanceOf({ performance, as_of_ms }: LabelledRow): CurrentPerformance | null {
  if (performance === null || as_of_ms === null) return null
  const { outcome, event_date, booked_at } = parseStoredJson(performance) as StoredContent
  if (outcome === undefined) return null
  return {
    outcome,
    asOfMs: as_of_ms,
    eventAtMs: momentOf(event_date),
    bookedAtMs: momentOf(booked_at),
  }
}

function decisionOf({ decision }: LabelledRow): CurrentDecision | null {
  if (decision === null) return null
  const { decision: made, booked_at } = parseStoredJson(decision) as StoredContent
  return { isApproved: made === 'approved', bookedAtMs: momentOf(booked_at) }
}

function momentOf(text: string | undefined): number | null {
  return text === undefined ? null : Date.parse(text)
}
