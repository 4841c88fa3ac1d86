import { sql } from 'drizzle-orm'
import { rowsOf, type Transaction } from '../platform/db/client.ts'
import { epochMs, momentText } from '../rollups/rollup-rows.ts'
import type { ScoredApplicant } from './applicant.ts'
import { rowOfApplicant } from './applicant-rows.ts'
import type { OutcomeFact } from './item.ts'
import type { MatchedFact, OutcomeSender } from './service.ts'

/** Months beyond the window for which an outcome is kept: what US lenders must keep a score for. */
const KEPT_MONTHS = 25
/** A decision is needed until the outcomes of the longest usual window have come. */
const DECISION_MONTHS = 36

export type WriteStatus = 'accepted' | 'unchanged' | 'revised'

/** Writers of a team follow one another, so that revisions and their times have one order. */
export async function lockOutcomes(tx: Transaction, teamId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`outcomes ${teamId}`}, 0))`)
}

/**
 * Stores facts in this order, under the lock of the team, with the applicants that are new.
 *
 * @returns one status for each
 */
export async function writeFacts(
  tx: Transaction,
  sender: OutcomeSender,
  matched: readonly MatchedFact[],
): Promise<WriteStatus[]> {
  if (matched.length === 0) return []
  const named = new Set(matched.map(({ fact }) => fact.definition))
  const definitions = await definitionsOf(tx, sender.teamId, [...named])
  const ids = await applicantIds(tx, sender.teamId, matched, definitions)
  const facts = matched.map(({ applicant, fact, heldAtMs = null }) => ({
    applicantId: ids.get(keyOf(applicant)) ?? 0,
    fact,
    heldAtMs,
  }))
  const { statuses, added } = await revisionsOf(tx, sender.teamId, facts)
  if (added.length > 0) await insertFacts(tx, sender, added)
  const unused = [...definitions].filter(([id, { isUsed }]) => {
    return !isUsed && added.some(({ fact }) => fact.definition === id)
  })
  for (const [id] of unused) {
    await tx.execute(sql`update outcome_definitions set used_at = now()
      where team_id = ${sender.teamId} and id = ${id} and used_at is null`)
  }
  return statuses
}

interface KnownDefinition {
  readonly windowMonths: number
  readonly isUsed: boolean
}

async function definitionsOf(
  tx: Transaction,
  teamId: string,
  ids: readonly string[],
): Promise<Map<string, KnownDefinition>> {
  const rows = await rowsOf<{ id: string; window_months: number; is_used: boolean }>(
    tx,
    sql`select id, window_months, used_at is not null as is_used from outcome_definitions
      where team_id = ${teamId}
        and id in (select json_array_elements_text(${JSON.stringify(ids)}::json))`,
  )
  return new Map(
    rows.map((row) => [row.id, { windowMonths: row.window_months, isUsed: row.is_used }]),
  )
}

const keyOf = ({ requestId, recordIndex }: ScoredApplicant) => `${requestId}/${recordIndex}`

/**
 * Stores applicants that are new, without a reference that was erased meanwhile, and keeps all of
 * them for as long as these facts need.
 *
 * @returns the ids of all by `keyOf`
 */
async function applicantIds(
  tx: Transaction,
  teamId: string,
  matched: readonly MatchedFact[],
  definitions: ReadonlyMap<string, KnownDefinition>,
): Promise<Map<string, number>> {
  const places = new Map<string, number>()
  const rows: object[] = []
  const needs = matched.map(({ applicant, fact }) => {
    const key = keyOf(applicant)
    const place = places.get(key) ?? rows.length
    if (place === rows.length) rows.push({ ...rowOfApplicant(applicant), place })
    places.set(key, place)
    const window = definitions.get(fact.definition)?.windowMonths ?? DECISION_MONTHS
    return { place, as_of: momentText(fact.asOfMs), months: KEPT_MONTHS + window }
  })
  // Stored with their end at once: to change it afterwards would write every index again.
  const found = await rowsOf<{ id: number; request_id: string; record_index: number }>(
    tx,
    sql`with needed as (
        select place, max(months) as months, max(as_of + make_interval(months => months)) as until
        from json_to_recordset(${JSON.stringify(needs)}::json)
          as need(place integer, as_of timestamptz, months integer)
        group by place),
      given as materialized (
        select * from json_to_recordset(${JSON.stringify(rows)}::json) as applicant(place integer,
          team_id text, deployment_id text, request_id text, record_index integer,
          is_batch boolean, applicants integer, scored_at timestamptz, reference_hash text,
          served smallint, is_first_form boolean, results json)),
      stored as (
        insert into outcome_applicants (team_id, deployment_id, request_id, record_index, is_batch,
          applicants, scored_at, reference_hash, served, is_first_form, results, keep_until)
        select team_id, deployment_id, request_id, record_index, is_batch, applicants, scored_at,
          case when exists (select 1 from log_erasures as erased
            where erased.team_id = ${teamId} and erased.reference_hash = given.reference_hash
              and erased.covers_until >= given.scored_at)
            then null else reference_hash end, served, is_first_form, results,
          greatest(until, scored_at + make_interval(months => months))
        from given join needed using (place)
        order by request_id collate "C", record_index
        on conflict (request_id, record_index) do update set keep_until = excluded.keep_until
          where outcome_applicants.keep_until < excluded.keep_until
        returning id, request_id, record_index)
      select id::float8 as id, request_id, record_index from stored
      union all
      select known.id::float8, known.request_id, known.record_index
      from outcome_applicants as known join given
        on known.request_id = given.request_id collate "C"
          and known.record_index = given.record_index`,
  )
  return new Map(found.map((row) => [`${row.request_id}/${row.record_index}`, row.id]))
}

interface AddedFact {
  readonly applicantId: number
  readonly fact: OutcomeFact
  /** Null for one that was never held. */
  readonly heldAtMs: number | null
}

interface StoredFact {
  readonly a: number
  readonly d: string
  readonly at_ms: number
  readonly content: string
  readonly came_at_ms: number
}

/** Compares facts, in order, with the newest revisions, and with those before them. */
async function revisionsOf(
  tx: Transaction,
  teamId: string,
  facts: readonly AddedFact[],
): Promise<{ statuses: WriteStatus[]; added: AddedFact[] }> {
  const factKey = ({ applicantId, fact }: AddedFact) =>
    `${applicantId} ${fact.asOfMs} ${fact.definition}`
  const given = facts.map(({ applicantId, fact }) => ({
    a: applicantId,
    d: fact.definition,
    t: momentText(fact.asOfMs),
  }))
  const stored = await rowsOf<StoredFact>(
    tx,
    sql`select distinct on (applicant_id, definition, as_of) applicant_id::float8 as a,
        definition as d, ${epochMs(sql`as_of`)} as at_ms, content::text as content,
        ${epochMs(sql`coalesce(held_at, recorded_at)`)} as came_at_ms
      from outcomes join json_to_recordset(${JSON.stringify(given)}::json)
        as given(a bigint, d text, t timestamptz)
        on applicant_id = a and definition = d collate "C" and as_of = t
      order by applicant_id, definition, as_of, revision desc`,
  )
  const newest = new Map(
    stored.map(({ a, d, at_ms, content, came_at_ms }) => [
      `${a} ${at_ms} ${d}`,
      { content, cameAtMs: came_at_ms },
    ]),
  )
  const heldUntilMs = stored.length === 0 ? Number.NEGATIVE_INFINITY : await newestHeld(tx, teamId)
  const statuses: WriteStatus[] = []
  const added: AddedFact[] = []
  for (const one of facts) {
    const key = factKey(one)
    const content = JSON.stringify(one.fact.content)
    const before = newest.get(key)
    // What was held says less than what came after it.
    const isLate = one.heldAtMs !== null && one.heldAtMs < (before?.cameAtMs ?? -Infinity)
    const isSame = isLate || before?.content === content
    statuses.push(before === undefined ? 'accepted' : isSame ? 'unchanged' : 'revised')
    // Said again, it must stand against what was held since it was said first.
    const isAgain = !isLate && (before?.cameAtMs ?? Infinity) < heldUntilMs
    if (isSame && !isAgain) continue
    newest.set(key, { content, cameAtMs: one.heldAtMs ?? Number.POSITIVE_INFINITY })
    added.push(one)
  }
  return { statuses, added }
}

/** When the newest held outcome of a team came; -Infinity without one. */
async function newestHeld(tx: Transaction, teamId: string): Promise<number> {
  const [row] = await rowsOf<{ at_ms: number }>(
    tx,
    sql`select ${epochMs(sql`received_at`)} as at_ms from held_outcomes
      where team_id = ${teamId} order by id desc limit 1`,
  )
  return row?.at_ms ?? Number.NEGATIVE_INFINITY
}

async function insertFacts(
  tx: Transaction,
  { by }: OutcomeSender,
  added: readonly AddedFact[],
): Promise<void> {
  const rows = JSON.stringify(
    added.map(({ applicantId, fact, heldAtMs }, index) => ({
      n: index,
      a: applicantId,
      d: fact.definition,
      t: momentText(fact.asOfMs),
      c: fact.content,
      h: heldAtMs === null ? null : momentText(heldAtMs),
    })),
  )
  // The time of the clock, not of the transaction: it lies behind the lock.
  await tx.execute(sql`insert into outcomes
      (applicant_id, definition, as_of, content, held_at, recorded_at, recorded_by)
    select a, d, t, c, h, clock_timestamp(), ${by}::text
    from json_to_recordset(${rows}::json)
      as given(n integer, a bigint, d text, t timestamptz, c json, h timestamptz)
    order by n`)
}
