import { createHash } from 'node:crypto'
import { type SQL, sql } from 'drizzle-orm'
import type { Environment } from '../http/access/caller.ts'
import { hashOfReference } from '../log/index.ts'
import {
  type Database,
  epochMs,
  momentText,
  queryRows,
  type Transaction,
} from '../platform/db/client.ts'
import { bigintList, textList } from '../platform/db/lists.ts'
import { parseStoredJson } from '../platform/json.ts'
import type { MatchedFact, OutcomeSender } from './fact-writer.ts'
import type { ImportStep } from './import-store.ts'
import type { OutcomeItem, OutcomeTarget } from './item.ts'

/** Rows that one transaction has stored. */
export interface OutcomeWritten {
  /** One for each fact. */
  readonly statuses: readonly ('accepted' | 'unchanged' | 'revised')[]
  /** One for each item to hold. */
  readonly holdings: readonly Holding[]
}

/** Rows that one transaction stores. */
export interface OutcomeWrite {
  readonly sender: OutcomeSender
  readonly matched: readonly MatchedFact[]
  readonly held: readonly OutcomeItem[]
  /** When the service got them: a reference that was erased since is not held. */
  readonly receivedAtMs: number
  /** Ids of held items that are matched now. */
  readonly settled: readonly number[]
  /** Moves the progress of an import in the same transaction. */
  readonly progress?: (written: OutcomeWritten) => ImportStep
}

export interface HeldItem {
  readonly id: number
  readonly item: OutcomeItem
  readonly sender: OutcomeSender
  readonly heldAtMs: number
  readonly tries: number
  /** When it was last looked for. */
  readonly triedAtMs: number
}

/**
 * State of an item that waits for its score. `full`: the team has too many of them; `long`: it
 * takes too much room.
 */
export type Holding = 'held' | 'full' | 'long' | 'erased'

/** An item of this many bytes is about ten times a usual one: a million of them is 4 GB. */
const ITEM_BYTES_MAX = 4_096

/** The share of a team in a round, however many teams wait. */
const SHARE_MIN = 20

/**
 * Keeps items whose score is not known yet, once for each environment. Under the lock of the team.
 *
 * @param heldMax held items of a team; beyond it none is held
 * @returns what became of each
 */
export async function hold(
  tx: Transaction,
  { sender, held, receivedAtMs }: Pick<OutcomeWrite, 'sender' | 'held' | 'receivedAtMs'>,
  heldMax: number,
): Promise<Holding[]> {
  if (held.length === 0) return []
  const { teamId, environment, by } = sender
  const rows = held.map((item) => ({
    item,
    hash: createHash('sha256')
      .update(JSON.stringify([environment, item]))
      .digest('hex'),
    ref: hashReference(teamId, item.target),
  }))
  const erased = await readErased(tx, teamId, { rows, receivedAtMs })
  const [count] = await queryRows<{ held: number }>(
    tx,
    sql`select count(*)::float8 as held from held_outcomes where team_id = ${teamId}`,
  )
  const isFull = (count?.held ?? 0) >= heldMax
  const holdings = rows.map(({ item, ref }): Holding => {
    if (ref !== null && erased.has(ref)) return 'erased'
    if (Buffer.byteLength(JSON.stringify(item)) > ITEM_BYTES_MAX) return 'long'
    return isFull ? 'full' : 'held'
  })
  const kept = rows.filter((_, index) => holdings[index] === 'held')
  if (kept.length === 0) return holdings
  // The time of the clock, not of the transaction: it lies behind the lock.
  await tx.execute(sql`insert into held_outcomes (team_id, item, item_hash, reference_hash,
      environment, held_by, received_at, next_try_at, tries)
    select ${teamId}::text, item, hash, ref, ${environment}, ${by}, clock_timestamp(), now(), 0
    from json_to_recordset(${JSON.stringify(kept)}::json) as given(item json, hash text, ref text)
    on conflict (team_id, item_hash) do nothing`)
  return holdings
}

/** Hashes of those references that were erased after the items were received. */
async function readErased(
  tx: Transaction,
  teamId: string,
  given: { readonly rows: readonly { readonly ref: string | null }[]; receivedAtMs: number },
): Promise<Set<string>> {
  const named = [...new Set(given.rows.flatMap(({ ref }) => (ref === null ? [] : [ref])))]
  if (named.length === 0) return new Set()
  const found = await queryRows<{ hash: string }>(
    tx,
    sql`select reference_hash as hash from log_erasures
      where team_id = ${teamId} and covers_until >= ${momentText(given.receivedAtMs)}
        and reference_hash = any(${textList(named)})`,
  )
  return new Set(found.map(({ hash }) => hash))
}

interface HeldRow {
  readonly id: number
  readonly team_id: string
  readonly environment: Environment | null
  readonly held_by: string
  readonly item: string
  readonly tries: number
  readonly tried_at_ms: number
  readonly received_at_ms: number
}

/**
 * Takes items whose turn it is, those that wait longest of each team, and leases them: no other
 * process takes them until then.
 */
export async function takeDue(
  db: Database,
  { nowMs, leaseMs, limit }: { readonly nowMs: number; leaseMs: number; limit: number },
): Promise<HeldItem[]> {
  const now = sql`${momentText(nowMs)}::timestamptz`
  const rows = await queryRows<HeldRow>(
    db,
    sql`with recursive ${teamsDueBy(now)},
      chosen as materialized (
        select mine.id from due cross join lateral (
          select id, row_number() over (order by next_try_at, id) as place from held_outcomes
          where team_id = due.team_id and next_try_at <= ${now}
          order by next_try_at, id
          limit (select greatest(${SHARE_MIN}::bigint, ${limit}::bigint / count(*)) from due)
        ) as mine
        order by place limit ${limit}::integer),
      taken as (
        select id from held_outcomes where id in (select id from chosen) and next_try_at <= ${now}
        for update skip locked)
      update held_outcomes set next_try_at = ${momentText(nowMs + leaseMs)}
      where id in (select id from taken)
      returning id::float8 as id, team_id, environment, held_by, item::text as item, tries,
        ${epochMs(sql`coalesce(tried_at, received_at)`)} as tried_at_ms,
        ${epochMs(sql`received_at`)} as received_at_ms`,
  )
  const items = rows.map((row) => ({
    id: row.id,
    item: parseStoredJson(row.item) as OutcomeItem,
    sender: { teamId: row.team_id, environment: row.environment, by: row.held_by },
    heldAtMs: row.received_at_ms,
    tries: row.tries,
    triedAtMs: row.tried_at_ms,
  }))
  return items.sort((one, other) => one.id - other.id)
}

/** Tells whether an item has its turn until then. */
export async function hasDue(db: Database, untilMs: number): Promise<boolean> {
  const rows = await queryRows(
    db,
    sql`with recursive ${teamsDueBy(sql`${momentText(untilMs)}::timestamptz`)}
      select 1 from due limit 1`,
  )
  return rows.length > 0
}

/** Sets the next try of items that were looked for now. */
export async function postpone(
  db: Database,
  ids: readonly number[],
  { nowMs, nextTryAtMs }: { readonly nowMs: number; readonly nextTryAtMs: number },
): Promise<void> {
  await db.execute(sql`update held_outcomes
    set tries = tries + 1, tried_at = ${momentText(nowMs)}, next_try_at = ${momentText(nextTryAtMs)}
    where id = any(${bigintList(ids)})`)
}

/** The teams with an item whose turn it is, from one entry of the index to the next. */
function teamsDueBy(now: SQL): SQL {
  return sql`teams as (
      (select team_id from held_outcomes order by team_id limit 1)
      union all
      select (select other.team_id from held_outcomes as other
        where other.team_id > teams.team_id order by other.team_id limit 1)
      from teams where teams.team_id is not null),
    due as materialized (
      select team_id from teams where team_id is not null and exists (
        select 1 from held_outcomes
        where held_outcomes.team_id = teams.team_id and next_try_at <= ${now}))`
}

function hashReference(teamId: string, target: OutcomeTarget): string | null {
  const name = target.by === 'reference' ? target.reference : target.recordId
  return name === null ? null : hashOfReference(teamId, name)
}

/** Tells whether an outcome that waits for its score names a definition. */
export async function isHeld(
  tx: Transaction,
  teamId: string,
  definition: string,
): Promise<boolean> {
  const rows = await queryRows(
    tx,
    sql`select 1 from held_outcomes
      where team_id = ${teamId} and item -> 'fact' ->> 'definition' = ${definition} limit 1`,
  )
  return rows.length > 0
}
