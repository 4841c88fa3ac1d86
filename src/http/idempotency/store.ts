import { sql } from 'drizzle-orm'
import { ForeignRowError } from '../../platform/db/asked-rows.ts'
import { CallGroups } from '../../platform/db/call-groups.ts'
import { DatabaseStore, queryRows } from '../../platform/db/client.ts'
import { bytesList, listRows, nameList, textList } from '../../platform/db/lists.ts'
import type { IdempotencyClaim } from '../access/caller.ts'
import {
  CLAIM_PREFIX,
  type FormerClaim,
  isFormer,
  isFree,
  listClaims,
  lockInOrder,
  NO_BODY,
} from './claim-sql.ts'

/** A claim of one hash of a key. */
export type HashClaim = Omit<IdempotencyClaim, 'otherKeyHash'>

export interface NewClaim extends HashClaim {
  readonly bodyHash: Uint8Array
  /** Id of the former claim that may be taken over: the log does not have its score. */
  readonly insteadOf?: string | undefined
}

/** The stored state of a key that is not free. */
export interface HeldKey {
  readonly bodyHash: Uint8Array
  /** Sealed; null without an answer. */
  readonly answer: Uint8Array | null
  /** True if a request is under way. */
  readonly isClaimed: boolean
}

/** A claim whose process has died ends after this time. */
export const CLAIM_MS = 30_000
/** An answer is given again for a day. */
export const KEPT_MS = 24 * 60 * 60 * 1000

/** Amount of kept answers. */
export interface Usage {
  readonly answers: number
  readonly bytes: number
}

/** Amounts of the teams that were asked for, and of all teams. */
export interface UsageTotals {
  readonly teams: ReadonlyMap<string, Usage>
  readonly all: Usage
}

interface ClaimRow {
  readonly key_hash: Uint8Array
  readonly body_hash: Uint8Array | null
  /** Null if it is long, too. */
  readonly answer: Uint8Array | null
  readonly is_answered: boolean
  readonly is_claimed: boolean
  readonly former_id: string | null
}

/** The key of a claim. */
interface FoundKey {
  /** Null: the key was free, and is claimed now unless it has a former claim. */
  readonly held: HeldKey | null
  readonly former?: FormerClaim
  /** True if its answer has to be read by itself. */
  readonly isLong: boolean
}

interface SealedAnswer {
  readonly claim: HashClaim
  readonly answer: Uint8Array
}

/** Two requests for a free key race at most so often; then the key counts as claimed by another. */
const ATTEMPTS_MAX = 5
const CLAIM_END = sql.raw(`now() + interval '${CLAIM_MS} milliseconds'`)
const KEPT_END = sql.raw(`now() + interval '${KEPT_MS} milliseconds'`)
/** Longest wait for a group. A slow database costs less than a second execution. */
export const STORE_DEADLINE_MS = 5_000
/** Keys of a statement. */
const GROUP_MAX = 128
/** The server writes the commits of several statements to its disk at once. */
const GROUPS_AT_ONCE = 2
/** Bytes of the answers of a statement that keeps several. */
const GROUP_BYTES_MAX = 512 * 1024
/** A longer answer is kept and read by itself: no other request waits for it. */
const JOINT_ANSWER_BYTES_MAX = 16 * 1024
/** What was kept in an hour that began before has expired. */
const USAGE_START = sql.raw(`now() - interval '${KEPT_MS} milliseconds' - interval '1 hour'`)

/**
 * Keys and answers of all replicas in PostgreSQL, by its clock. Each statement is a transaction.
 * Claims, answers and releases that come while a statement is under way go together in the next
 * one. It locks its rows in the order of their hashes, against deadlocks.
 */
export class IdempotencyStore extends DatabaseStore {
  private readonly claims = new CallGroups({
    run: (claims: readonly NewClaim[]) => this.claimAll(claims),
    weightMax: GROUP_MAX,
    deadlineMs: STORE_DEADLINE_MS,
    groupsAtOnce: GROUPS_AT_ONCE,
  })
  private readonly answers = new CallGroups({
    run: (answers: readonly SealedAnswer[]) => this.keepAll(answers),
    weigh: ({ answer }) => answer.length + GROUP_BYTES_MAX / GROUP_MAX,
    weightMax: GROUP_BYTES_MAX,
    deadlineMs: STORE_DEADLINE_MS,
    groupsAtOnce: GROUPS_AT_ONCE,
  })
  private readonly releases = new CallGroups({
    run: (claims: readonly HashClaim[]) => this.releaseAll(claims),
    weightMax: GROUP_MAX,
    deadlineMs: STORE_DEADLINE_MS,
  })

  /** Claims the key for `CLAIM_MS` if it is free: then nothing is held. */
  async claim(claim: NewClaim): Promise<Omit<FoundKey, 'isLong'>> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const { isLong, ...found } = await this.claims.call(claim)
      if (!isLong) return found
      const read = await this.readLong(claim.keyHash)
      if (read !== null) return { held: read }
    }
    return underWay(claim.bodyHash)
  }

  /**
   * Keeps the answer for `KEPT_MS`.
   *
   * @returns false if another request has taken over the claim
   */
  keep(claim: HashClaim, answer: Uint8Array): Promise<boolean> {
    const kept = { claim, answer }
    return answer.length <= JOINT_ANSWER_BYTES_MAX ? this.answers.call(kept) : this.keepLong(kept)
  }

  /** It is a parameter: a statement that fails is in the log of the database. */
  private async keepLong({ claim, answer }: SealedAnswer): Promise<boolean> {
    const rows = await queryRows(
      this.db,
      sql`update idempotency_keys set answer = ${answer}::bytea, expires_at = ${KEPT_END},
          claim_id = ${CLAIM_PREFIX}
        where key_hash = ${claim.keyHash}::bytea and claim_id = ${claim.claimId} returning 1`,
    )
    return rows.length > 0
  }

  /** Ends a claim without an answer. The key is free unless its change is made. */
  async release(claim: HashClaim): Promise<void> {
    await this.releases.call(claim)
  }

  /** Of several requests with one key the first one gets the claim. */
  private async claimAll(claims: readonly NewClaim[]): Promise<FoundKey[]> {
    const byKey = new Map<string, NewClaim>()
    for (const claim of claims) {
      const key = nameHash(claim.keyHash)
      if (!byKey.has(key)) byKey.set(key, claim)
    }
    const found = await this.claimEach(byKey)
    return claims.map((claim) => {
      const key = nameHash(claim.keyHash)
      const held = found.get(key)
      const first = byKey.get(key)
      if (held !== undefined && (held.held !== null || first === claim)) return held
      const isFirst = first === undefined || first === claim
      return isFirst ? { held: null, isLong: false } : underWay(first.bodyHash)
    })
  }

  /**
   * It reads before it writes, and waits for no lock of a row that is there: a change may hold it
   * for long. Where two statements claim a key at the same moment, the second one finds it taken,
   * and reads it next. A key that is neither free nor held at the last attempt counts as under way.
   *
   * @returns the keys that are held, or have a former claim
   */
  private async claimEach(
    claims: ReadonlyMap<string, NewClaim>,
  ): Promise<ReadonlyMap<string, FoundKey>> {
    const found = new Map<string, FoundKey>()
    const open = new Map(claims)
    const read = (rows: readonly ClaimRow[]) => {
      for (const row of rows) {
        const key = nameHash(row.key_hash)
        if (!open.delete(key)) throw new ForeignRowError('the row of another one')
        const { body_hash: bodyHash, answer, is_claimed: isClaimed, is_answered: isAnswered } = row
        if (bodyHash === null) continue
        if (row.former_id !== null) {
          const former = { claimId: row.former_id, bodyHash }
          found.set(key, { held: null, former, isLong: false })
          continue
        }
        const isLong = isAnswered && answer === null
        found.set(key, { held: { bodyHash, answer, isClaimed }, isLong })
      }
    }
    for (let attempt = 0; attempt < ATTEMPTS_MAX && open.size > 0; attempt++) {
      read(await this.claimNew([...open.values()]))
      if (open.size > 0) read(await this.claimPresent([...open.values()]))
    }
    for (const [key, { bodyHash }] of open) found.set(key, underWay(bodyHash))
    return found
  }

  /**
   * A claim is on the disk with its answer or change at the latest, whose commit waits for the disk.
   * If the server crashes before, nothing is kept or changed under the lost claim.
   *
   * @returns the keys that had no row
   */
  private claimNew(claims: readonly NewClaim[]): Promise<ClaimRow[]> {
    return queryRows<ClaimRow>(
      this.db,
      sql`insert into idempotency_keys (key_hash, body_hash, claim_id, claimed_until, expires_at)
        select *, ${CLAIM_END}, ${KEPT_END} from ${listClaims(claims)}
        where not exists (select from idempotency_keys as present
          where present.key_hash = asked.key_hash)
          and (select set_config('synchronous_commit', 'off', true)) = 'off'
        order by key_hash on conflict do nothing returning key_hash, ${NO_BODY}`,
    )
  }

  /**
   * @returns the rows of keys that are held or have a former claim, and of those that are claimed
   *   now without a body
   */
  private claimPresent(claims: readonly NewClaim[]): Promise<ClaimRow[]> {
    const isAsked = sql`key_hash = any(${bytesList(claims.map(({ keyHash }) => keyHash))})`
    const hasFormer = isFormer(claims.flatMap(({ insteadOf }) => insteadOf ?? []))
    return queryRows<ClaimRow>(
      this.db,
      sql`with free as (
          select key_hash from idempotency_keys
          where ${isAsked} and (${isFree('')}) and not ${hasFormer}
          order by key_hash for update skip locked
        ), own as (
          update idempotency_keys as stored set body_hash = asked.body_hash,
            claim_id = asked.claim_id, claimed_until = ${CLAIM_END}, expires_at = ${KEPT_END},
            changed_at = null, answer = null
          from free join ${listClaims(claims)} using (key_hash)
          where stored.key_hash = free.key_hash and (${isFree('stored.')})
          returning stored.key_hash
        )
        select key_hash, ${NO_BODY} from own
        union all
        select key_hash, body_hash,
          case when octet_length(answer) <= ${sql.raw(`${JOINT_ANSWER_BYTES_MAX}`)} then answer end,
          answer is not null, claimed_until > now(), case when ${hasFormer} then claim_id end
        from idempotency_keys where ${isAsked} and (not (${isFree('')}) or ${hasFormer})`,
    )
  }

  /** @returns null if its answer has expired just now */
  private async readLong(keyHash: Uint8Array): Promise<HeldKey | null> {
    const [row] = await queryRows<{ body_hash: Uint8Array; answer: Uint8Array }>(
      this.db,
      sql`select body_hash, answer from idempotency_keys
        where key_hash = ${keyHash}::bytea and answer is not null and not (${isFree('')})`,
    )
    if (row === undefined) return null
    return { bodyHash: row.body_hash, answer: row.answer, isClaimed: false }
  }

  private async keepAll(kept: readonly SealedAnswer[]): Promise<boolean[]> {
    const asked = listRows(kept.map(({ claim, answer }) => [claim.keyHash, claim.claimId, answer]))
    const rows = await queryRows<{ claim_id: string }>(
      this.db,
      sql`update idempotency_keys as present set answer = own.answer,
          expires_at = ${KEPT_END}, claim_id = ${CLAIM_PREFIX}
        from (
          select key_hash, claim_id, asked.answer from idempotency_keys as stored
          join ${asked} as asked (key_hash, claim_id, answer) using (key_hash, claim_id)
          order by key_hash for update of stored
        ) as own
        where present.key_hash = own.key_hash returning own.claim_id`,
    )
    const done = new Set(rows.map((row) => row.claim_id))
    return kept.map(({ claim }) => done.has(claim.claimId))
  }

  private async releaseAll(claims: readonly HashClaim[]): Promise<undefined[]> {
    const hashes = bytesList(claims.map(({ keyHash }) => keyHash))
    const ids = nameList(claims.map(({ claimId }) => claimId))
    const isOwn = sql`answer is null and (key_hash, claim_id) in (
      select key_hash, claim_id from own
      join unnest(${hashes}, ${ids}) as asked (key_hash, claim_id) using (key_hash, claim_id))`
    await this.db.execute(
      sql`with own as (${lockInOrder(hashes)}),
        freed as (delete from idempotency_keys where changed_at is null and ${isOwn})
        update idempotency_keys set claimed_until = now()
        where changed_at is not null and ${isOwn}`,
    )
    return claims.map(() => undefined)
  }

  /** Extends claims that are still in force. A row that is locked is being answered or changed. */
  async renew(claims: readonly HashClaim[]): Promise<void> {
    const hashes = bytesList(claims.map(({ keyHash }) => keyHash))
    const ids = nameList(claims.map(({ claimId }) => claimId))
    await this.db.execute(
      sql`update idempotency_keys set claimed_until = ${CLAIM_END} where key_hash in (
          select key_hash from idempotency_keys
          where key_hash = any(${hashes}) and claim_id = any(${ids})
            and answer is null and claimed_until > now()
          for update skip locked)`,
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
          select team, date_trunc('hour', now()), answers, bytes from asked where bytes > 0
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
}

function underWay(bodyHash: Uint8Array): FoundKey {
  return { held: { bodyHash, answer: null, isClaimed: true }, isLong: false }
}

function nameHash(keyHash: Uint8Array): string {
  return Buffer.from(keyHash).toString('base64')
}
