import { createHash } from 'node:crypto'
import { type SQL, sql } from 'drizzle-orm'
import type { Environment } from '../access/caller.ts'
import type { NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord } from '../audit/writer.ts'
import { type Database, rowsOf, type Transaction } from '../platform/db/client.ts'
import { parseStoredJson } from '../platform/json.ts'
import { epochMs, momentText } from '../rollups/rollup-rows.ts'
import { hashOfReference } from '../score-log/erasure/erasure-list.ts'
import type { ScoredApplicant } from './applicant.ts'
import {
  APPLICANT_COLUMNS,
  type ApplicantRow,
  applicantOfRow,
  rowOfApplicant,
} from './applicant-rows.ts'
import type { DefinitionStore, OutcomeDefinition } from './definitions.ts'
import { moveImport } from './import-store.ts'
import type { OutcomeFact, OutcomeItem, OutcomeTarget } from './item.ts'
import type { KnownApplicants } from './matcher.ts'
import type { HeldItem, OutcomeSender, OutcomeStore, OutcomeWrite } from './service.ts'

interface DefinitionRow {
  readonly id: string
  readonly label: string
  readonly window_months: number
  readonly bad_rule_text: string
  readonly maturity_months: number
  readonly is_used: boolean
}

/** Months beyond the window for which an outcome is kept: what US lenders must keep a score for. */
const KEPT_MONTHS = 25
/** A decision is needed until the outcomes of the longest usual window have come. */
const DECISION_MONTHS = 36
/** Held outcomes of a team; beyond it none is held. */
const HELD_MAX = 1_000_000

type WriteStatus = 'accepted' | 'unchanged' | 'revised'

/** Outcomes in PostgreSQL. */
export class PostgresOutcomeStore implements OutcomeStore, DefinitionStore, KnownApplicants {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
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
        if (stored.is_used) return 'in-use'
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

  write({ sender, matched, held, settled, progress }: OutcomeWrite): Promise<WriteStatus[]> {
    return this.db.transaction(async (tx) => {
      await lockOutcomes(tx, sender.teamId)
      const ids = await applicantIds(
        tx,
        matched.map(({ applicant }) => applicant),
      )
      const facts = matched.map(({ applicant, fact }) => ({
        applicantId: ids.get(keyOf(applicant)) ?? 0,
        fact,
      }))
      const { statuses, added } = await revisionsOf(tx, facts)
      if (added.length > 0) await insertFacts(tx, sender, added)
      if (held.length > 0) await hold(tx, sender, held)
      if (settled.length > 0) {
        await tx.execute(sql`delete from held_outcomes
          where id in (select value::bigint from json_array_elements_text(
            ${JSON.stringify(settled)}::json))`)
      }
      if (progress !== undefined) await moveImport(tx, progress(statuses))
      return statuses
    })
  }

  async due(nowMs: number, limit: number): Promise<HeldItem[]> {
    const rows = await rowsOf<{
      id: number
      team_id: string
      environment: Environment | null
      held_by: string
      item: string
      tries: number
    }>(
      this.db,
      sql`select id::float8 as id, team_id, environment, held_by, item::text as item, tries
        from held_outcomes where next_try_at <= ${momentText(nowMs)}
        order by next_try_at limit ${limit}`,
    )
    return rows.map(({ id, team_id, environment, held_by, item, tries }) => ({
      id,
      item: parseStoredJson(item) as OutcomeItem,
      sender: { teamId: team_id, environment, by: held_by },
      tries,
    }))
  }

  async postpone(ids: readonly number[], nextTryAtMs: number): Promise<void> {
    await this.db.execute(sql`update held_outcomes
      set tries = tries + 1, next_try_at = ${momentText(nextTryAtMs)}
      where id in (select value::bigint from json_array_elements_text(
        ${JSON.stringify(ids)}::json))`)
  }

  async purge(heldBeforeMs: number, nowMs: number): Promise<void> {
    await this.db.execute(
      sql`delete from held_outcomes where received_at < ${momentText(heldBeforeMs)}`,
    )
    await this.db.execute(
      sql`delete from outcome_applicants where keep_until < ${momentText(nowMs)}`,
    )
  }

  async eraseReference(teamId: string, reference: string): Promise<number> {
    const hash = hashOfReference(teamId, reference)
    const rows = await rowsOf<{ id: number }>(
      this.db,
      sql`with applicants as (update outcome_applicants set reference_hash = null
          where team_id = ${teamId} and reference_hash = ${hash} returning 1 as id),
        held as (delete from held_outcomes
          where team_id = ${teamId} and reference_hash = ${hash} returning 1 as id)
        select id from applicants union all select id from held`,
    )
    return rows.length
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

/** Writers of a team follow one another, so that revisions and their times have one order. */
async function lockOutcomes(tx: Transaction, teamId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`outcomes ${teamId}`}, 0))`)
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

const keyOf = ({ requestId, recordIndex }: ScoredApplicant) => `${requestId}/${recordIndex}`

/** Stores applicants that are new; returns the ids of all by `keyOf`. */
async function applicantIds(
  tx: Transaction,
  applicants: readonly ScoredApplicant[],
): Promise<Map<string, number>> {
  const distinct = [...new Map(applicants.map((one) => [keyOf(one), one])).values()]
  if (distinct.length === 0) return new Map()
  const rows = JSON.stringify(distinct.map(rowOfApplicant))
  await tx.execute(sql`insert into outcome_applicants (team_id, deployment_id, request_id,
      record_index, is_batch, applicants, scored_at, reference_hash, served, is_first_form,
      results, keep_until)
    select team_id, deployment_id, request_id, record_index, is_batch, applicants, scored_at,
      reference_hash, served, is_first_form, results, scored_at
    from json_to_recordset(${rows}::json) as given(team_id text, deployment_id text,
      request_id text, record_index integer, is_batch boolean, applicants integer,
      scored_at timestamptz, reference_hash text, served smallint, is_first_form boolean,
      results json)
    order by request_id, record_index
    on conflict (request_id, record_index) do nothing`)
  const keys = JSON.stringify(
    distinct.map(({ requestId, recordIndex }) => ({ r: requestId, i: recordIndex })),
  )
  const found = await rowsOf<{ id: number; request_id: string; record_index: number }>(
    tx,
    sql`select id::float8 as id, request_id, record_index from outcome_applicants
      join json_to_recordset(${keys}::json) as given(r text, i integer)
        on request_id = r collate "C" and record_index = i`,
  )
  return new Map(found.map((row) => [`${row.request_id}/${row.record_index}`, row.id]))
}

interface AddedFact {
  readonly applicantId: number
  readonly fact: OutcomeFact
}

/** Compares facts, in order, with the newest revisions, and with those before them. */
async function revisionsOf(
  tx: Transaction,
  facts: readonly AddedFact[],
): Promise<{ statuses: WriteStatus[]; added: AddedFact[] }> {
  const factKey = ({ applicantId, fact }: AddedFact) =>
    `${applicantId} ${fact.asOfMs} ${fact.definition}`
  const given = facts.map(({ applicantId, fact }) => ({
    a: applicantId,
    d: fact.definition,
    t: momentText(fact.asOfMs),
  }))
  const stored = await rowsOf<{ a: number; d: string; at_ms: number; content: string }>(
    tx,
    sql`select distinct on (applicant_id, definition, as_of) applicant_id::float8 as a,
        definition as d, ${epochMs(sql`as_of`)} as at_ms, content::text as content
      from outcomes join json_to_recordset(${JSON.stringify(given)}::json)
        as given(a bigint, d text, t timestamptz)
        on applicant_id = a and definition = d collate "C" and as_of = t
      order by applicant_id, definition, as_of, revision desc`,
  )
  const newest = new Map(stored.map(({ a, d, at_ms, content }) => [`${a} ${at_ms} ${d}`, content]))
  const statuses: WriteStatus[] = []
  const added: AddedFact[] = []
  for (const one of facts) {
    const key = factKey(one)
    const content = JSON.stringify(one.fact.content)
    const before = newest.get(key)
    statuses.push(before === undefined ? 'accepted' : before === content ? 'unchanged' : 'revised')
    if (before === content) continue
    newest.set(key, content)
    added.push(one)
  }
  return { statuses, added }
}

async function insertFacts(
  tx: Transaction,
  { teamId, by }: OutcomeSender,
  added: readonly AddedFact[],
): Promise<void> {
  const rows = JSON.stringify(
    added.map(({ applicantId, fact }, index) => ({
      n: index,
      a: applicantId,
      d: fact.definition,
      t: momentText(fact.asOfMs),
      c: fact.content,
    })),
  )
  const recordset = sql`json_to_recordset(${rows}::json)
    as given(n integer, a bigint, d text, t timestamptz, c json)`
  // The time of the clock, not of the transaction: it lies behind the lock.
  await tx.execute(sql`insert into outcomes
      (applicant_id, definition, as_of, content, recorded_at, recorded_by)
    select a, d, t, c, clock_timestamp(), ${by}::text from ${recordset} order by n`)
  await tx.execute(sql`update outcome_definitions set used_at = now()
    where team_id = ${teamId} and used_at is null
      and id in (select d collate "C" from ${recordset})`)
  await tx.execute(sql`update outcome_applicants set keep_until = greatest(keep_until, until)
    from (select a, max(t + make_interval(months =>
          ${KEPT_MONTHS}::integer + coalesce(window_months, ${DECISION_MONTHS}::integer))) as until
        from ${recordset} left join outcome_definitions
          on team_id = ${teamId} and id = d collate "C"
        group by a) as needed
    where id = a`)
  await tx.execute(sql`update outcome_applicants
    set keep_until = greatest(keep_until, scored_at + make_interval(months => months))
    from (select a, max(${KEPT_MONTHS}::integer + coalesce(window_months, ${DECISION_MONTHS}::integer)) as months
        from ${recordset} left join outcome_definitions
          on team_id = ${teamId} and id = d collate "C"
        group by a) as needed
    where id = a`)
}

async function hold(
  tx: Transaction,
  { teamId, environment, by }: OutcomeSender,
  items: readonly OutcomeItem[],
): Promise<void> {
  const [count] = await rowsOf<{ held: number }>(
    tx,
    sql`select count(*)::float8 as held from held_outcomes where team_id = ${teamId}`,
  )
  if ((count?.held ?? 0) >= HELD_MAX) return
  const rows = items.map((item) => ({
    item,
    hash: createHash('sha256')
      .update(JSON.stringify([environment, item]))
      .digest('hex'),
    ref: referenceHashOf(teamId, item.target),
  }))
  await tx.execute(sql`insert into held_outcomes (team_id, item, item_hash, reference_hash,
      environment, held_by, received_at, next_try_at, tries)
    select ${teamId}::text, item, hash, ref, ${environment}, ${by}, now(), now(), 0
    from json_to_recordset(${JSON.stringify(rows)}::json) as given(item json, hash text, ref text)
    on conflict (team_id, item_hash) do nothing`)
}

function referenceHashOf(teamId: string, target: OutcomeTarget): string | null {
  const name = target.by === 'reference' ? target.reference : target.recordId
  return name === null ? null : hashOfReference(teamId, name)
}
