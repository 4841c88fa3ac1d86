import { type SQL, sql } from 'drizzle-orm'
import { DatabaseStore, epochMs, queryRows } from '../../platform/db/client.ts'
import type { SealedSecrets } from './webhook.ts'

export interface AttemptEnd {
  readonly state: 'delivered' | 'waiting' | 'dead'
  readonly status: number | null
  readonly error: string | null
  /** When to try again. */
  readonly retryInMs: number
}

/** A delivery that this process has taken for one attempt. */
export interface DueDelivery extends SealedSecrets {
  readonly id: string
  readonly teamId: string
  readonly webhookId: string
  readonly eventId: string
  /** Number of the attempt, from 1. */
  readonly attempt: number
  readonly type: string
  /** JSON of the event's data, the same in each attempt. */
  readonly dataText: string
  readonly at: Date
  readonly url: string
}

interface TakeQuery {
  /** Attempts of this process that are under way, by webhook. */
  readonly underWay: ReadonlyMap<string, number>
  /** Attempts that a webhook may have at a time. */
  readonly perWebhook: number
  readonly limit: number
  /** After so long without an end another replica makes the attempt again. */
  readonly leaseMs: number
}

interface TakenRow {
  readonly id: string
  readonly team_id: string
  readonly webhook_id: string
  readonly event_id: string
  readonly attempts: number
  readonly type: string
  readonly data: string
  readonly at_ms: number
  readonly url: string
  readonly secret: Uint8Array
  readonly previous_secret: Uint8Array | null
  readonly sealed_with: string
}

/** Deliveries that are due, in PostgreSQL. Times are on its clock, which all replicas share. */
export class DueStore extends DatabaseStore {
  /** Takes deliveries that are due, of webhooks chosen at random. */
  async take({ underWay, perWebhook, limit, leaseMs }: TakeQuery): Promise<DueDelivery[]> {
    const rows = await queryRows<TakenRow>(
      this.db,
      sql`with busy (id, attempts) as (${rowsOfCounts(underWay)}
        ), receivers as materialized (
          select webhooks.id, ${perWebhook}::integer - coalesce(busy.attempts, 0) as free
          from webhooks left join busy on busy.id = webhooks.id
          where is_active and coalesce(busy.attempts, 0) < ${perWebhook}::integer and exists (
            select 1 from webhook_deliveries
            where webhook_id = webhooks.id and state = 'waiting' and next_attempt_at <= now())
          order by random() limit ${limit}::integer
        ), due as materialized (
          select delivery.id from receivers cross join lateral (
            select id from webhook_deliveries
            where webhook_id = receivers.id and state = 'waiting' and next_attempt_at <= now()
            order by next_attempt_at limit receivers.free
            for update skip locked
          ) as delivery
          limit ${limit}::integer
        ), taken as (
          update webhook_deliveries
          set attempts = attempts + 1, last_attempt_at = now(), next_attempt_at = ${inMs(leaseMs)}
          from due where webhook_deliveries.id = due.id
          returning webhook_deliveries.id, webhook_deliveries.team_id, webhook_id, event_id, attempts
        )
        select taken.id, taken.team_id, taken.webhook_id, taken.event_id, taken.attempts,
          webhook_events.type, webhook_events.data::text as data,
          ${epochMs(sql`webhook_events.created_at`)} as at_ms, webhooks.url, webhooks.secret,
          case when webhooks.previous_until > now() then webhooks.previous_secret end
            as previous_secret, webhooks.sealed_with
        from taken join webhook_events on webhook_events.id = taken.event_id
        join webhooks on webhooks.id = taken.webhook_id`,
    )
    return rows.map((row) => ({
      id: row.id,
      teamId: row.team_id,
      webhookId: row.webhook_id,
      eventId: row.event_id,
      attempt: row.attempts,
      type: row.type,
      dataText: row.data,
      at: new Date(row.at_ms),
      url: row.url,
      secret: row.secret,
      previousSecret: row.previous_secret,
      sealedWith: row.sealed_with,
    }))
  }

  /** Stores how an attempt ended, unless another replica has taken the delivery meanwhile. */
  async finish(
    { id, webhookId, attempt }: DueDelivery,
    { state, status, error, retryInMs }: AttemptEnd,
  ): Promise<void> {
    // The webhook goes first: a reader who sees how a delivery ended sees its webhook as it is then.
    await this.db.execute(
      state === 'delivered'
        ? sql`update webhooks set failing_since = null
            where id = ${webhookId} and failing_since is not null`
        : sql`update webhooks set failing_since = now()
            where id = ${webhookId} and failing_since is null`,
    )
    const finishedAt = state === 'waiting' ? sql`null` : sql`now()`
    await this.db.execute(sql`update webhook_deliveries
      set state = ${state}, last_status = ${status}::integer, last_error = ${error}::text,
        next_attempt_at = ${inMs(retryInMs)}, finished_at = ${finishedAt}
      where id = ${id} and attempts = ${attempt}::integer and state = 'waiting'`)
  }

  /** Gives a delivery back without counting the attempt. */
  async release({ id, attempt }: DueDelivery): Promise<void> {
    await this.db.execute(sql`update webhook_deliveries
      set attempts = attempts - 1, next_attempt_at = now()
      where id = ${id} and attempts = ${attempt}::integer and state = 'waiting'`)
  }
}

/** A moment from now, on the clock of the database. */
export function inMs(ms: number): SQL {
  return sql`now() + ${ms}::float8 * interval '1 millisecond'`
}

function rowsOfCounts(counts: ReadonlyMap<string, number>): SQL {
  if (counts.size === 0) return sql`select null::text, 0 where false`
  const rows = [...counts].map(([id, count]) => sql`(${id}::text, ${count}::integer)`)
  return sql`values ${sql.join(rows, sql`, `)}`
}
