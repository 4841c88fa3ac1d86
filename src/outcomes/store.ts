import { type SQL, sql } from 'drizzle-orm'
import type { Environment } from '../http/access/caller.ts'
import type { NewAuditRecord } from '../identity/audit/record.ts'
import { insertAuditRecord } from '../identity/audit/writer.ts'
import { hashOfReference } from '../log/index.ts'
import { type Database, momentText, queryRows, type Transaction } from '../platform/db/client.ts'
import { bigintList, textList } from '../platform/db/lists.ts'
import type { ScoredApplicant } from './applicant.ts'
import { APPLICANT_COLUMNS, type ApplicantRow, applicantOfRow } from './applicant-rows.ts'
import { lockOutcomes, writeFacts } from './fact-writer.ts'
import {
  type HeldItem,
  hasDue,
  hold,
  isHeld,
  type OutcomeWrite,
  type OutcomeWritten,
  postpone,
  takeDue,
} from './held-items.ts'
import { moveImport } from './import-store.ts'

/** A team's definition of good and bad. */
export interface OutcomeDefinition {
  readonly id: string
  readonly label: string
  readonly windowMonths: number
  readonly badRuleText: string
  readonly maturityMonths: number
}

/** Times before which nothing needs to be kept. */
export interface Expiry {
  /** Time before which nothing is held. */
  readonly heldBeforeMs: number
  /** Imports that ended before. */
  readonly importsBeforeMs: number
  readonly nowMs: number
}

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

export class OutcomeStore {
  private readonly db: Database
  private readonly heldMax: number

  /** @param heldMax held outcomes of a team */
  constructor(db: Database, heldMax = HELD_MAX) {
    this.db = db
    this.heldMax = heldMax
  }

  async definition(teamId: string, id: string): Promise<OutcomeDefinition | null> {
    const found = await this.definitionRows(this.db, sql`team_id = ${teamId} and id = ${id}`)
    return found[0] === undefined ? null : readDefinition(found[0])
  }

  /** All of the team: those in use first, by their first use; then by id. */
  async definitions(teamId: string): Promise<OutcomeDefinition[]> {
    return (await this.definitionRows(this.db, sql`team_id = ${teamId}`)).map(readDefinition)
  }

  /**
   * Stores a definition. Nothing changes if it is stored already.
   *
   * @returns `in-use` without a change if outcomes refer to another text; `full` at the bound
   */
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
        if (isSame(readDefinition(stored), definition)) return 'stored'
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
      const before = stored === undefined ? null : readBefore(stored)
      await insertAuditRecord(tx, { ...record, before })
      return 'stored'
    })
  }

  /** Definitions of the team with these ids, with their windows in months. */
  async readWindows(teamId: string, ids: readonly string[]): Promise<Map<string, number>> {
    if (ids.length === 0) return new Map()
    const named = sql`id = any(${textList(ids)})`
    const rows = await this.definitionRows(this.db, sql`team_id = ${teamId} and ${named}`)
    return new Map(rows.map((row) => [row.id, row.window_months]))
  }

  /**
   * Stores the facts in this order; not one that was held before the current one of the same moment
   * came.
   */
  write(write: OutcomeWrite): Promise<OutcomeWritten> {
    const { sender, matched, settled, progress } = write
    return this.db.transaction(async (tx) => {
      await lockOutcomes(tx, sender.teamId)
      const statuses = await writeFacts(tx, sender, matched)
      const written = { statuses, holdings: await hold(tx, write, this.heldMax) }
      if (settled.length > 0) {
        await tx.execute(sql`delete from held_outcomes where id = any(${bigintList(settled)})`)
      }
      if (progress !== undefined) await moveImport(tx, progress(written))
      return written
    })
  }

  /**
   * Held items whose turn it is, of each team those that wait longest, in the order in which they
   * came; leased until then.
   */
  takeDue(order: { nowMs: number; leaseMs: number; limit: number }): Promise<readonly HeldItem[]> {
    return takeDue(this.db, order)
  }

  /** Tells whether a held item has its turn until then. */
  hasDue(untilMs: number): Promise<boolean> {
    return hasDue(this.db, untilMs)
  }

  /** Sets the next try of held items, by id, which were looked for now. */
  postpone(ids: readonly number[], times: { nowMs: number; nextTryAtMs: number }): Promise<void> {
    return postpone(this.db, ids, times)
  }

  /**
   * Removes what no longer needs to be kept, so many rows of each kind at most.
   *
   * @returns whether more may be left
   */
  removeExpired(expiry: Expiry, limit: number): Promise<boolean> {
    return removeExpired(this.db, expiry, limit)
  }

  /**
   * Removes a reference. Under the lock of the team: what is under way sees the erasure, or is seen
   * by it.
   *
   * @returns the number of places
   */
  eraseReference(teamId: string, reference: string): Promise<number> {
    const hash = hashOfReference(teamId, reference)
    return this.db.transaction(async (tx) => {
      await lockOutcomes(tx, teamId)
      const rows = await queryRows<{ id: number }>(
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
    return this.applicants(sql`team_id = ${teamId} and request_id = any(${textList(requestIds)})`)
  }

  async ofReferences(
    teamId: string,
    deploymentId: string,
    hashes: readonly string[],
  ): Promise<ScoredApplicant[]> {
    return this.applicants(sql`team_id = ${teamId} and deployment_id = ${deploymentId}
      and reference_hash = any(${textList(hashes)})`)
  }

  /** Environments of those of the deployments that the team has. */
  async findEnvironments(
    teamId: string,
    deploymentIds: readonly string[],
  ): Promise<Map<string, Environment>> {
    const rows = await queryRows<{ id: string; environment: Environment }>(
      this.db,
      sql`select id, environment from deployments where team_id = ${teamId}
        and id = any(${textList(deploymentIds)})`,
    )
    return new Map(rows.map(({ id, environment }) => [id, environment]))
  }

  private async applicants(condition: SQL): Promise<ScoredApplicant[]> {
    const rows = await queryRows<ApplicantRow>(
      this.db,
      sql`select ${APPLICANT_COLUMNS} from outcome_applicants where ${condition}`,
    )
    return rows.map(applicantOfRow)
  }

  private definitionRows(db: Database | Transaction, condition: SQL): Promise<DefinitionRow[]> {
    return queryRows<DefinitionRow>(
      db,
      sql`select id, label, window_months, bad_rule_text, maturity_months,
          used_at is not null as is_used
        from outcome_definitions where ${condition} order by used_at, id`,
    )
  }
}

function readDefinition(row: DefinitionRow): OutcomeDefinition {
  return {
    id: row.id,
    label: row.label,
    windowMonths: row.window_months,
    badRuleText: row.bad_rule_text,
    maturityMonths: row.maturity_months,
  }
}

function readBefore({ label, window_months, bad_rule_text, maturity_months }: DefinitionRow) {
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

/**
 * Removes applicants that no definition needs any more, with their outcomes, held outcomes that
 * have waited long enough, and old imports; `limit` rows of each at most, because a statement has
 * a few seconds. Several processes may do so at once.
 *
 * @returns whether more may be left
 */
async function removeExpired(
  db: Database,
  { heldBeforeMs, importsBeforeMs, nowMs }: Expiry,
  limit: number,
): Promise<boolean> {
  const parts = [
    // The database refuses by its own clock what is kept longer.
    sql`delete from outcome_applicants where id in (
      select id from outcome_applicants
      where keep_until < least(${momentText(nowMs)}::timestamptz, now())
      order by keep_until limit ${limit}::integer for update skip locked)`,
    // Their ids rise with the time: those that wait longest are the first.
    sql`delete from held_outcomes where received_at < ${momentText(heldBeforeMs)} and id in (
      select id from held_outcomes order by id limit ${limit}::integer for update skip locked)`,
    sql`delete from outcome_imports where id in (
      select id from outcome_imports where finished_at < ${momentText(importsBeforeMs)}
      limit ${limit}::integer for update skip locked)`,
  ]
  let isMore = false
  for (const part of parts) if ((await removed(db, part)) >= limit) isMore = true
  return isMore
}

async function removed(db: Database, statement: SQL): Promise<number> {
  return (await queryRows(db, sql`${statement} returning 1`)).length
}
