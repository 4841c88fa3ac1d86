import { type SQL, sql } from 'drizzle-orm'
import type { Environment } from '../access/caller.ts'
import type { NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord } from '../audit/writer.ts'
import { type Database, rowsOf, type Transaction } from '../platform/db/client.ts'
import { momentText } from '../rollups/rollup-rows.ts'
import { hashOfReference } from '../score-log/erasure/reference-hash.ts'
import type { ScoredApplicant } from './applicant.ts'
import { APPLICANT_COLUMNS, type ApplicantRow, applicantOfRow } from './applicant-rows.ts'
import type { DefinitionStore, OutcomeDefinition } from './definitions.ts'
import { removeExpired } from './expired.ts'
import { lockOutcomes, writeFacts } from './fact-writer.ts'
import { hasDue, hold, isHeld, postpone, takeDue } from './held-items.ts'
import { moveImport } from './import-store.ts'
import type { KnownApplicants } from './matcher.ts'
import type { Expiry, HeldItem, OutcomeStore, OutcomeWrite, OutcomeWritten } from './service.ts'

/** Held outcomes of a team; beyond it none is held. */
const HELD_MAX = 1_000_000

interface DefinitionRow {
  readonly id: string
  readonly label: string
  readonly window_months: number
  readonly bad_rule_text: string
  readonly maturity_months: number
  readonly is_used: boolean
}

/** Outcomes in PostgreSQL. */
export class PostgresOutcomeStore implements OutcomeStore, DefinitionStore, KnownApplicants {
  private readonly db: Database
  private readonly heldMax: number

  /** @param heldMax held outcomes of a team */
  constructor(db: Database, heldMax = HELD_MAX) {
    this.db = db
    this.heldMax = heldMax
  }

  async definition(teamId: string, id: string): Promise<OutcomeDefinition | null> {
    const found = await this.definitionRows(this.db, sql`team_id = ${teamId} and id = ${id}`)
    return found[0] === undefined ? null : definitionOf(found[0])
  }

  async definitions(teamId: string): Promise<OutcomeDefinition[]> {
    return (await this.definitionRows(this.db, sql`team_id = ${teamId}`)).map(definitionOf)
  }

  put(
    teamId: string,
    definition: OutcomeDefinition,
    definitionsMax: number,
    record: NewAuditRecord,
  ): Promise<'stored' | 'in-use' | 'full'> {
    return this.db.transaction(async (tx) => {
      await lockOutcomes(tx, teamId)
      const all = await this.definitionRows(tx, sql`team_id = ${teamId}`)
      const stored = all.find(({ id }) => id === definition.id)
      if (stored !== undefined) {
        if (isSame(definitionOf(stored), definition)) return 'stored'
        if (stored.is_used || (await isHeld(tx, teamId, definition.id))) return 'in-use'
      } else if (all.length >= definitionsMax) return 'full'
      const { id, label, windowMonths, badRuleText, maturityMonths } = definition
      await tx.execute(sql`insert into outcome_definitions
          (team_id, id, label, window_months, bad_rule_text, maturity_months, created_at)
        values (${teamId}, ${id}, ${label}, ${windowMonths}, ${badRuleText}, ${maturityMonths},
          ${momentText(record.createdAt.getTime())})
        on conflict (team_id, id) do update set label = excluded.label,
          window_months = excluded.window_months, bad_rule_text = excluded.bad_rule_text,
          maturity_months = excluded.maturity_months`)
      const before = stored === undefined ? null : beforeOf(stored)
      await insertAuditRecord(tx, { ...record, before })
      return 'stored'
    })
  }

  async windowsOf(teamId: string, ids: readonly string[]): Promise<Map<string, number>> {
    if (ids.length === 0) return new Map()
    const named = sql`id in (select json_array_elements_text(${JSON.stringify(ids)}::json))`
    const rows = await this.definitionRows(this.db, sql`team_id = ${teamId} and ${named}`)
    return new Map(rows.map((row) => [row.id, row.window_months]))
  }

  write(write: OutcomeWrite): Promise<OutcomeWritten> {
    const { sender, matched, settled, progress } = write
    return this.db.transaction(async (tx) => {
      await lockOutcomes(tx, sender.teamId)
      const statuses = await writeFacts(tx, sender, matched)
      const written = { statuses, holdings: await hold(tx, write, this.heldMax) }
      if (settled.length > 0) {
        await tx.execute(sql`delete from held_outcomes
          where id in (select value::bigint from json_array_elements_text(
            ${JSON.stringify(settled)}::json))`)
      }
      if (progress !== undefined) await moveImport(tx, progress(written))
      return written
    })
  }

  takeDue(order: { nowMs: number; leaseMs: number; limit: number }): Promise<HeldItem[]> {
    return takeDue(this.db, order)
  }

  hasDue(untilMs: number): Promise<boolean> {
    return hasDue(this.db, untilMs)
  }

  postpone(ids: readonly number[], times: { nowMs: number; nextTryAtMs: number }): Promise<void> {
    return postpone(this.db, ids, times)
  }

  removeExpired(expiry: Expiry, limit: number): Promise<boolean> {
    return removeExpired(this.db, expiry, limit)
  }

  /** Under the lock of the team: what is under way sees the erasure, or is seen by it. */
  eraseReference(teamId: string, reference: string): Promise<number> {
    const hash = hashOfReference(teamId, reference)
    return this.db.transaction(async (tx) => {
      await lockOutcomes(tx, teamId)
      const rows = await rowsOf<{ id: number }>(
        tx,
        sql`with applicants as (update outcome_applicants set reference_hash = null
            where team_id = ${teamId} and reference_hash = ${hash} returning 1 as id),
          held as (delete from held_outcomes
            where team_id = ${teamId} and reference_hash = ${hash} returning 1 as id)
          select id from applicants union all select id from held`,
      )
      return rows.length
    })
  }

  async ofRequests(teamId: string, requestIds: readonly string[]): Promise<ScoredApplicant[]> {
    const named = JSON.stringify(requestIds)
    return this.applicants(sql`team_id = ${teamId}
      and request_id in (select json_array_elements_text(${named}::json))`)
  }

  async ofReferences(
    teamId: string,
    deploymentId: string,
    hashes: readonly string[],
  ): Promise<ScoredApplicant[]> {
    const named = JSON.stringify(hashes)
    return this.applicants(sql`team_id = ${teamId} and deployment_id = ${deploymentId}
      and reference_hash in (select json_array_elements_text(${named}::json))`)
  }

  async environmentsOf(
    teamId: string,
    deploymentIds: readonly string[],
  ): Promise<Map<string, Environment>> {
    const rows = await rowsOf<{ id: string; environment: Environment }>(
      this.db,
      sql`select id, environment from deployments where team_id = ${teamId}
        and id in (select json_array_elements_text(${JSON.stringify(deploymentIds)}::json))`,
    )
    return new Map(rows.map(({ id, environment }) => [id, environment]))
  }

  private async applicants(condition: SQL): Promise<ScoredApplicant[]> {
    const rows = await rowsOf<ApplicantRow>(
      this.db,
      sql`select ${APPLICANT_COLUMNS} from outcome_applicants where ${condition}`,
    )
    return rows.map(applicantOfRow)
  }

  private definitionRows(db: Database | Transaction, condition: SQL): Promise<DefinitionRow[]> {
    return rowsOf<DefinitionRow>(
      db,
      sql`select id, label, window_months, bad_rule_text, maturity_months,
          used_at is not null as is_used
        from outcome_definitions where ${condition} order by id`,
    )
  }
}

function definitionOf(row: DefinitionRow): OutcomeDefinition {
  return {
    id: row.id,
    label: row.label,
    windowMonths: row.window_months,
    badRuleText: row.bad_rule_text,
    maturityMonths: row.maturity_months,
  }
}

function beforeOf({ label, window_months, bad_rule_text, maturity_months }: DefinitionRow) {
  return { label, window_months, bad_rule_text, maturity_months }
}

function isSame(one: OutcomeDefinition, other: OutcomeDefinition): boolean {
  return (
    one.label === other.label &&
    one.windowMonths === other.windowMonths &&
    one.badRuleText === other.badRuleText &&
    one.maturityMonths === other.maturityMonths
  )
}
