import { type SQL, sql } from 'drizzle-orm'
import { askedRow } from '../../platform/db/asked-rows.ts'
import { queryRows } from '../../platform/db/client.ts'
import { textList } from '../../platform/db/lists.ts'
import { DatabaseStore } from '../../platform/db/store.ts'
import { CLAIM_MS, type HashClaim, type HeldKey, KEPT_MS, type NewClaim } from './service.ts'
import type { Usage, UsageTotals } from './team-room.ts'

interface ClaimRow {
  readonly asked: Uint8Array
  readonly is_own: boolean
  readonly body_hash: Uint8Array | null
  readonly answer: Uint8Array | null
  readonly is_claimed: boolean | null
}

/** Two requests for a free key race at most so often; then the key counts as claimed by another. */
const ATTEMPTS_MAX = 5
const CLAIM_END = sql.raw(`now() + interval '${CLAIM_MS} milliseconds'`)
const KEPT_END = sql.raw(`now() + interval '${KEPT_MS} milliseconds'`)
/** What was kept in an hour that began before has expired. */
const USAGE_START = sql.raw(`now() - interval '${KEPT_MS} milliseconds' - interval '1 hour'`)

/**
 * Keys and answers of all replicas in PostgreSQL, by its clock. Each method is one statement, and
 * so one transaction.
 */
export class IdempotencyStore extends DatabaseStore {
  /**
   * Claims the key for `CLAIM_MS` if it is free: then nothing is held.
   *
   * It reads before it writes: a key that is not free is read without waiting for the lock that a
   * change holds on it. Where two requests claim a free key at the same moment, the second one
   * waits for the first one's insert, finds the key taken, and reads it at the next attempt.
   */
  async claim({ keyHash, bodyHash, claimId }: NewClaim): Promise<{ held: HeldKey | null }> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const rows = await queryRows<ClaimRow>(
        this.db,
        sql`with held as (
            select body_hash, answer, claimed_until > now() as is_claimed
            from idempotency_keys where key_hash = ${keyHash}::bytea and not (${isFree('')})
          ), own as (
            insert into idempotency_keys as present
              (key_hash, body_hash, claim_id, claimed_until, expires_at)
            select ${keyHash}::bytea, ${bodyHash}::bytea, ${claimId}::text, ${CLAIM_END}, ${KEPT_END}
            where not exists (select from held)
            on conflict (key_hash) do update set body_hash = excluded.body_hash,
              claim_id = excluded.claim_id, claimed_until = excluded.claimed_until,
              expires_at = excluded.expires_at, changed_at = null, answer = null
            where ${isFree('present.')}
            returning 1
          )
          select ${keyHash}::bytea as asked, exists (select from own) as is_own, held.*
          from (select) one
          left join held on true`,
      )
      const row = askedRow(rows, ({ asked }) => Buffer.compare(asked, keyHash) === 0)
      if (row?.is_own === true) return { held: null }
      if (row?.body_hash) {
        const { body_hash: held, answer, is_claimed: isClaimed } = row
        return { held: { bodyHash: held, answer, isClaimed: isClaimed === true } }
      }
    }
    return { held: { bodyHash, answer: null, isClaimed: true } }
  }

  /**
   * Keeps the answer for `KEPT_MS`.
   *
   * @returns false if another request has taken over the claim
   */
  async keep({ keyHash, claimId }: HashClaim, answer: Uint8Array): Promise<boolean> {
    const kept = await queryRows(
      this.db,
      sql`update idempotency_keys set answer = ${answer}::bytea, expires_at = ${KEPT_END}
        where key_hash = ${keyHash}::bytea and claim_id = ${claimId} returning 1`,
    )
    return kept.length > 0
  }

  /** Ends a claim without an answer. The key is free unless its change is made. */
  async release({ keyHash, claimId }: HashClaim): Promise<void> {
    const isOwn = sql`key_hash = ${keyHash}::bytea and claim_id = ${claimId} and answer is null`
    await this.db.execute(
      sql`with freed as (delete from idempotency_keys where ${isOwn} and changed_at is null)
        update idempotency_keys set claimed_until = now()
        where ${isOwn} and changed_at is not null`,
    )
  }

  /** Extends claims that are still in force. */
  async renew(claimIds: readonly string[]): Promise<void> {
    await this.db.execute(
      sql`update idempotency_keys set claimed_until = ${CLAIM_END}
        where answer is null and claimed_until > now()
          and claim_id = any(${textList(claimIds)})`,
    )
  }

  /**
   * Removes expired keys, the oldest first;
   * @returns how many
   */
  async removeExpired(rowsMax: number): Promise<number> {
    const removed = await queryRows(
      this.db,
      sql`delete from idempotency_keys where key_hash = any(array(
        select key_hash from idempotency_keys where expires_at <= now()
        order by expires_at limit ${rowsMax} for update skip locked)) returning 1`,
    )
    return removed.length
  }

  /**
   * Adds what was kept just now. A row that another replica has just added to is read as that
   * replica has left it.
   *
   * @returns what is kept of these teams then, and of all
   */
  async addUsage(kept: ReadonlyMap<string, Usage>): Promise<UsageTotals> {
    const list = JSON.stringify(
      [...kept].map(([team, { answers, bytes }]) => ({ team, answers, bytes })),
    )
    const rows = await queryRows<{ team_id: string | null; answers: number; bytes: number }>(
      this.db,
      sql`with asked as (
          select * from json_to_recordset(${list}::text::json)
            as asked(team text, answers bigint, bytes bigint)
        ), added as (
          insert into idempotency_usage as present (team_id, hour, answers, bytes)
          select team, date_trunc('hour', now()), answers, bytes from asked where answers > 0
          order by team
          on conflict (team_id, hour) do update set
            answers = present.answers + excluded.answers, bytes = present.bytes + excluded.bytes
          returning team_id, hour, answers, bytes
        ), held as (
          select team_id, answers, bytes from added
          union all
          select team_id, answers, bytes from idempotency_usage
          where hour > ${USAGE_START} and (team_id, hour) not in (select team_id, hour from added)
        )
        select team_id, sum(answers)::float8 as answers, sum(bytes)::float8 as bytes
        from held where team_id = any(${textList([...kept.keys()])}) group by team_id
        union all
        select null, coalesce(sum(answers), 0)::float8, coalesce(sum(bytes), 0)::float8 from held`,
    )
    const teams = new Map<string, Usage>()
    let all: Usage = { answers: 0, bytes: 0 }
    for (const { team_id, answers, bytes } of rows) {
      if (team_id === null) all = { answers, bytes }
      else teams.set(team_id, { answers, bytes })
    }
    return { teams, all }
  }

  /** Removes the counts of what has expired. */
  async removeOldUsage(): Promise<void> {
    await this.db.execute(sql`delete from idempotency_usage where hour <= ${USAGE_START}`)
  }

  /** Size of the table on disk, which does not shrink. */
  async bytes(): Promise<number> {
    const [row] = await queryRows<{ bytes: number }>(
      this.db,
      sql`select pg_total_relation_size('idempotency_keys')::float8 as bytes`,
    )
    return row?.bytes ?? 0
  }

  /** Size of the answers alone; it reads the whole table. */
  async keptBytes(): Promise<number> {
    const [row] = await queryRows<{ bytes: number }>(
      this.db,
      sql`select coalesce(sum(octet_length(answer)), 0)::float8 as bytes from idempotency_keys`,
    )
    return row?.bytes ?? 0
  }

  /** For a database without autovacuum. */
  async vacuum(): Promise<void> {
    await this.db.execute(sql`vacuum (analyze) idempotency_keys`)
    await this.db.execute(sql`vacuum (analyze) idempotency_usage`)
  }
}

/** A key that nobody has, or has any more; see the states in `IdempotencyService`. */
function isFree(row: '' | 'present.'): SQL {
  const of = (column: string) => sql.raw(`${row}${column}`)
  return sql`${of('expires_at')} <= now() or (${of('answer')} is null
    and ${of('changed_at')} is null and ${of('claimed_until')} <= now())`
}
