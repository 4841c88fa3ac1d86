import { and, eq, isNull, ne, sql } from 'drizzle-orm'
import { DatabaseStore, queryRows } from '../../platform/db/client.ts'
import { webhooks } from '../../tables/webhooks.ts'
import { inMs } from './delivery-store.ts'
import type { SealedSecrets } from './webhook.ts'

/** Upkeep of webhooks in PostgreSQL. */
export class UpkeepStore extends DatabaseStore {
  /**
   * Removes deliveries that ended before, the oldest first.
   * @returns how many
   */
  async removeFinished(
    { deliveredMs, deadMs }: { readonly deliveredMs: number; readonly deadMs: number },
    limit: number,
  ): Promise<number> {
    const removed = await queryRows(
      this.db,
      sql`delete from webhook_deliveries where id in (
          select id from webhook_deliveries
          where finished_at < ${inMs(-deliveredMs)}
            and (state = 'delivered' or finished_at < ${inMs(-deadMs)})
          order by finished_at limit ${limit}::integer for update skip locked)
        returning 1`,
    )
    return removed.length
  }

  /**
   * Removes deliveries of removed webhooks, and then those webhooks.
   * @returns how many
   */
  async removeRemoved(limit: number): Promise<number> {
    const removed = await queryRows(
      this.db,
      sql`delete from webhook_deliveries where id in (
          select webhook_deliveries.id from webhook_deliveries
          join webhooks on webhooks.id = webhook_deliveries.webhook_id
          where webhooks.removed_at is not null
          limit ${limit}::integer for update of webhook_deliveries skip locked)
        returning 1`,
    )
    if (removed.length === limit) return limit
    await this.db.execute(sql`delete from webhooks where removed_at is not null and not exists (
      select 1 from webhook_deliveries where webhook_id = webhooks.id)`)
    return removed.length
  }

  /**
   * Gives up deliveries that wait for a webhook that is switched off.
   * @returns how many
   */
  async giveUpOfInactive(keptMs: number, limit: number): Promise<number> {
    const ended = await queryRows(
      this.db,
      sql`update webhook_deliveries
        set state = 'dead', finished_at = now(), last_error = 'the webhook was switched off'
        where id in (
          select webhook_deliveries.id from webhooks
          join webhook_deliveries on webhook_deliveries.webhook_id = webhooks.id
          where not webhooks.is_active and webhooks.removed_at is null
            and webhook_deliveries.state = 'waiting' and next_attempt_at < ${inMs(-keptMs)}
          limit ${limit}::integer for update of webhook_deliveries skip locked)
        returning 1`,
    )
    return ended.length
  }

  /**
   * Removes older events that have no delivery.
   * @returns how many
   */
  async removeEvents(keptMs: number, limit: number): Promise<number> {
    const removed = await queryRows(
      this.db,
      sql`delete from webhook_events where id in (
          select id from webhook_events
          where created_at < ${inMs(-keptMs)} and not exists (
            select 1 from webhook_deliveries where event_id = webhook_events.id)
          order by created_at limit ${limit}::integer for update skip locked)
        returning 1`,
    )
    return removed.length
  }

  /** Notes which webhooks have so many waiting deliveries that they take no more. */
  async noteFull(waitingMax: number): Promise<void> {
    await this.db.execute(sql`with counted as (
        select id, (select count(*) from (
            select 1 from webhook_deliveries
            where webhook_id = webhooks.id and state = 'waiting' limit ${waitingMax}::integer
          ) as waiting) >= ${waitingMax}::integer as is_full
        from webhooks where removed_at is null
      )
      update webhooks set is_full = counted.is_full from counted
      where webhooks.id = counted.id and webhooks.is_full <> counted.is_full`)
  }

  /** Waiting deliveries of active webhooks, up to a bound, and the age of the oldest. */
  async backlog(countMax: number): Promise<{ waiting: number; overdueMs: number }> {
    const [row] = await queryRows<{ waiting: number; overdue_ms: number | null }>(
      this.db,
      sql`select count(*)::float8 as waiting,
          (extract(epoch from now() - min(next_attempt_at)) * 1000)::float8 as overdue_ms
        from (select next_attempt_at from webhook_deliveries
          join webhooks on webhooks.id = webhook_deliveries.webhook_id
          where state = 'waiting' and webhooks.is_active
          limit ${countMax}::integer) as waiting`,
    )
    return { waiting: row?.waiting ?? 0, overdueMs: Math.max(0, row?.overdue_ms ?? 0) }
  }

  /** Keys that another secret of the service has sealed. */
  sealedOtherwise(
    sealedWith: string,
    limit: number,
  ): Promise<readonly (SealedSecrets & { readonly id: string })[]> {
    return this.db
      .select({
        id: webhooks.id,
        secret: webhooks.secret,
        previousSecret: webhooks.previousSecret,
        sealedWith: webhooks.sealedWith,
      })
      .from(webhooks)
      .where(and(ne(webhooks.sealedWith, sealedWith), isNull(webhooks.removedAt)))
      .limit(limit)
  }

  /**
   * Stores keys that were sealed anew, unless they have changed meanwhile: a rotation has other
   * bytes, whatever sealed them.
   */
  async reseal(webhookId: string, from: SealedSecrets, to: SealedSecrets): Promise<void> {
    await this.db
      .update(webhooks)
      .set(to)
      .where(and(eq(webhooks.id, webhookId), eq(webhooks.secret, from.secret)))
  }
}
