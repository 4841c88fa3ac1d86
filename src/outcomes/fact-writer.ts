import { sql } from 'drizzle-orm'
import type { Environment } from '../http/access/caller.ts'
import { epochMs, momentText, queryRows, type Transaction } from '../platform/db/client.ts'
import { textList } from '../platform/db/lists.ts'
import type { ScoredApplicant } from './applicant.ts'
import { rowOfApplicant } from './applicant-rows.ts'
import { isWithdrawal, type OutcomeFact } from './item.ts'

export interface OutcomeSender {
  readonly teamId: string
  /** Only deployments of this environment; null: all. */
  readonly environment: Environment | null
  /** Id of the user or the key. */
  readonly by: string
}

export interface MatchedFact {
  readonly applicant: ScoredApplicant
  readonly fact: OutcomeFact
  /** When it was held; absent for one that is stored as it comes. */
  readonly heldAtMs?: number
}

/** Months beyond the window for which an outcome is kept: what US lenders must keep a score for. */
const KEPT_MONTHS = 25
/** A decision is needed until the outcomes of the longest usual window have come. */
const DECISION_MONTHS = 36

type WriteStatus = 'accepted' | 'unchanged' | 'revised'

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
  const definitions = await findDefinitions(tx, sender.teamId, [...named])
  const ids = await applicantIds(tx, sender.teamId, matched, definitions)
  const facts = matched.map(({ applicant, fact, heldAtMs = null }) => ({
    applicantId: ids.get(makeKey(applicant)) ?? 0,
    fact,
    heldAtMs,
  }))
  const others = await withdrawnElsewhere(tx, facts)
  const { statuses, added } = await listRevisions(tx, sender.teamId, [
    ...facts,
    ...others.map(({ one }) => one),
  ])
  for (const [index, { of }] of others.entries()) {
    if (statuses[facts.length + index] === 'revised') statuses[of] = 'revised'
  }
  if (added.length > 0) await insertFacts(tx, sender, added)
  const unused = [...definitions].filter(([id, { isUsed }]) => {
    return !isUsed && added.some(({ fact }) => fact.definition === id)
  })
  for (const [id] of unused) {
    await tx.execute(sql`update outcome_definitions set used_at = now()
      where team_id = ${sender.teamId} and id = ${id} and used_at is null`)
  }
  return statuses.slice(0, facts.length)
}

/**
 * Withdrawals for the other scorings of the same reference that have the outcome: it was sent
 * before the applicant was scored again, and all of them are one applicant.
 */
async function withdrawnElsewhere(
  tx: Transaction,
  facts: readonly AddedFact[],
): Promise<{ of: number; one: AddedFact }[]> {
  const withdrawals = facts.flatMap((one, of) => (isWithdrawal(one.fact) ? [{ of, one }] : []))
  if (withdrawals.length === 0) return []
  const given = withdrawals.map(({ of, one: { applicantId, fact } }) => ({
    n: of,
    a: applicantId,
    d: fact.definition,
    t: momentText(fact.asOfMs),
  }))
  const rows = await queryRows<{ n: number; id: number }>(
    tx,
    sql`select distinct n, other.id::float8 as id
      from json_to_recordset(${JSON.stringify(given)}::json)
        as given(n integer, a bigint, d text, t timestamptz)
      cross join lateral (
        select id, team_id, deployment_id, reference_hash from outcome_applicants
        where id = a offset 0) as own
      cross join lateral (
        select id from outcome_applicants
        where team_id = own.team_id and reference_hash = own.reference_hash
          and deployment_id = own.deployment_id and id <> own.id offset 0) as other
      cross join lateral (
        select 1 from outcomes
        where applicant_id = other.id and definition = d collate "C" and as_of = t
        limit 1) as outcome
      order by n, id`,
  )
  return rows.flatMap(({ n, id }) => {
    const one = facts[n]
    return one === undefined ? [] : [{ of: n, one: { ...one, applicantId: id } }]
  })
}

interface KnownDefinition {
  readonly windowMonths: number
  readonly isUsed: boolean
}

async function findDefinitions(
  tx: Transaction,
  teamId: string,
  ids: readonly string[],
): Promise<Map<string, KnownDefinition>> {
  const rows = await queryRows<{ id: string; window_months: number; is_used: boolean }>(
    tx,
    sql`select id, window_months, used_at is not null as is_used from outcome_definitions
      where team_id = ${teamId}
        and id = any(${textList(ids)})`,
  )
  return new Map(
    rows.map((row) => [row.id, { windowMonths: row.window_months, isUsed: row.is_used }]),
  )
}

const makeKey = ({ requestId, recordIndex }: ScoredApplicant) => `${requestId}/${recordIndex}`

/**
 * Stores applicants that are new, without a reference that was erased meanwhile, and keeps all of
 * them for as long as these facts need.
 *
 * @returns the ids of all by `makeKey`
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
    const key = makeKey(applicant)
    const place = places.get(key) ?? rows.length
    if (place === rows.length) rows.push({ ...rowOfApplicant(applicant), place })
    places.set(key, place)
    const window = definitions.get(fact.definition)?.windowMonths ?? DECISION_MONTHS
    return { place, as_of: momentText(fact.asOfMs), months: KEPT_MONTHS + window }
  })
  // Stored with their end at once: to change it afterwards would write every index again.
  const found = await queryRows<{ id: number; request_id: string; record_index: number }>(
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
          served smallint, results json)),
      stored as (
        insert into outcome_applicants (team_id, deployment_id, request_id, record_index, is_batch,
          applicants, scored_at, reference_hash, served, results, keep_until)
        select team_id, deployment_id, request_id, record_index, is_batch, applicants, scored_at,
          case when exists (select 1 from log_erasures as erased
            where erased.team_id = ${teamId} and erased.reference_hash = given.reference_hash
              and erased.covers_until >= given.scored_at)
            then null else reference_hash end, served, results,
          greatest(until, scored_at + make_interval(months => months))
        from given join needed using (place)
        order by request_id collate "C", record_index
        on conflict (request_id, record_index) do update set keep_until = excluded.keep_until
          where outcome_applicants.keep_until < excluded.keep_until
        returning id, request_id, record_index)
      select id::float8 as id, request_id, record_index from stored
      union all
      select known.id::float8, given.request_id, given.record_index
      from given cross join lateral (
        select id from outcome_applicants
        where request_id = given.request_id collate "C" and record_index = given.record_index
        offset 0) as known`,
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
async function listRevisions(
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
  const stored = await queryRows<StoredFact>(
    tx,
    sql`select a::float8 as a, d, ${epochMs(sql`t`)} as at_ms, newest.content,
        newest.came_at_ms
      from json_to_recordset(${JSON.stringify(given)}::json)
        as given(a bigint, d text, t timestamptz)
      cross join lateral (
        select content::text as content,
          ${epochMs(sql`coalesce(held_at, recorded_at)`)} as came_at_ms
        from outcomes where applicant_id = a and definition = d collate "C" and as_of = t
        order by revision desc limit 1) as newest`,
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
  const [row] = await queryRows<{ at_ms: number }>(
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
