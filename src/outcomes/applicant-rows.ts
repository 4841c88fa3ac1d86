import { sql } from 'drizzle-orm'
import { epochMs, momentText } from '../platform/db/client.ts'
import { parseStoredJson } from '../platform/json.ts'
import type { ScoredApplicant, StoredResult } from './applicant.ts'

/** A row of `outcome_applicants` as `APPLICANT_COLUMNS` reads it. */
export interface ApplicantRow {
  readonly team_id: string
  readonly deployment_id: string
  readonly request_id: string
  readonly record_index: number
  readonly is_batch: boolean
  readonly applicants: number
  readonly scored_at_ms: number
  readonly reference_hash: string | null
  readonly served: number
  readonly results: string
}

export const APPLICANT_COLUMNS = sql`team_id, deployment_id, request_id, record_index, is_batch,
  applicants, ${epochMs(sql`scored_at`)} as scored_at_ms, reference_hash, served,
  results::text as results`

export function applicantOfRow(row: ApplicantRow): ScoredApplicant {
  return {
    teamId: row.team_id,
    deploymentId: row.deployment_id,
    requestId: row.request_id,
    recordIndex: row.record_index,
    isBatch: row.is_batch,
    applicants: row.applicants,
    scoredAtMs: row.scored_at_ms,
    referenceHash: row.reference_hash,
    served: row.served,
    results: parseStoredJson(row.results) as StoredResult[],
  }
}

/** The applicant as a row for `json_to_recordset`. */
export function rowOfApplicant(applicant: ScoredApplicant): object {
  return {
    team_id: applicant.teamId,
    deployment_id: applicant.deploymentId,
    request_id: applicant.requestId,
    record_index: applicant.recordIndex,
    is_batch: applicant.isBatch,
    applicants: applicant.applicants,
    scored_at: momentText(applicant.scoredAtMs),
    reference_hash: applicant.referenceHash,
    served: applicant.served,
    results: applicant.results,
  }
}
