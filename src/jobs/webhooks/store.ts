import { and, eq, isNull, sql } from 'drizzle-orm'
import { requireManager } from '../../http/access/manager.ts'
import { managerNow } from '../../http/access/manager-store.ts'
import type { Actor, NewAuditRecord } from '../../identity/audit/record.ts'
import { insertAuditRecord, lockTeam } from '../../identity/audit/writer.ts'
import { type EventType, insertEvent, type NewEvent } from '../../identity/outbox.ts'
import { type Database, DatabaseStore, type Transaction } from '../../platform/db/client.ts'
import { mapPage, type Page, type PageRequest, readPage } from '../../platform/paging.ts'
import { webhookDeliveries, webhookEvents, webhooks } from '../../tables/webhooks.ts'
import type { Delivery, DeliveryState, SealedSecrets, Webhook } from './webhook.ts'

/** The new settings of a webhook; absent leaves it as it is. */
export type WebhookChange = Partial<
  Pick<Webhook, 'url' | 'description' | 'types' | 'isActive' | 'previousUntil'> & SealedSecrets
>

/** A removed webhook is hidden from its team. */
const isThere = isNull(webhooks.removedAt)

const DELIVERY = {
  id: webhookDeliveries.id,
  eventId: webhookDeliveries.eventId,
  type: webhookEvents.type,
  state: webhookDeliveries.state,
  attempts: webhookDeliveries.attempts,
  nextAttemptAt: webhookDeliveries.nextAttemptAt,
  lastAttemptAt: webhookDeliveries.lastAttemptAt,
  lastStatus: webhookDeliveries.lastStatus,
  lastError: webhookDeliveries.lastError,
  finishedAt: webhookDeliveries.finishedAt,
  createdAt: webhookDeliveries.createdAt,
}

export class WebhookStore extends DatabaseStore {
  count(teamId: string): Promise<number> {
    return countWebhooks(this.db, teamId)
  }

  /**
   * @returns false if the team has `max` webhooks; then nothing is added
   * @throws AppError as `requireManager`
   */
  add(webhook: Webhook & SealedSecrets, audit: NewAuditRecord, max: number): Promise<boolean> {
    const { teamId, createdBy: userId } = webhook
    return this.changeAs({ userId, teamId }, async (tx) => {
      if ((await countWebhooks(tx, teamId)) >= max) return false
      await tx.insert(webhooks).values({ ...webhook, types: readTypes(webhook.types) })
      await insertAuditRecord(tx, audit)
      return true
    })
  }

  async list(teamId: string, page: PageRequest): Promise<Page<Webhook>> {
    const stored = this.db.select().from(webhooks)
    const found = await readPage(stored, page, webhooks.id, eq(webhooks.teamId, teamId), isThere)
    return mapPage(found, readWebhook)
  }

  find(teamId: string, webhookId: string): Promise<Webhook | null> {
    return findWebhook(this.db, teamId, webhookId)
  }

  /**
   * @param decide derives the change within the transaction, with its audit record
   * @returns the webhook after it, or null if the team has none with this id
   * @throws AppError as `requireManager`
   */
  change(
    actor: Actor,
    webhookId: string,
    at: Date,
    decide: (present: Webhook & SealedSecrets) => {
      readonly change: WebhookChange
      readonly audit: NewAuditRecord
    },
  ): Promise<Webhook | null> {
    return this.changeAs(actor, async (tx) => {
      const present = await findWebhook(tx, actor.teamId, webhookId)
      if (present === null) return null
      const { change, audit } = decide(present)
      const { types, ...others } = change
      await tx
        .update(webhooks)
        .set({ ...others, ...(types !== undefined && { types: readTypes(types) }), updatedAt: at })
        .where(eq(webhooks.id, webhookId))
      await insertAuditRecord(tx, audit)
      return { ...present, ...change, updatedAt: at }
    })
  }

  /**
   * Hides it from now on; upkeep removes it with its deliveries.
   *
   * @returns false if the team has none with this id
   * @throws AppError as `requireManager`
   */
  remove(
    actor: Actor,
    webhookId: string,
    audit: (present: Webhook) => NewAuditRecord,
  ): Promise<boolean> {
    return this.changeAs(actor, async (tx) => {
      const present = await findWebhook(tx, actor.teamId, webhookId)
      if (present === null) return false
      const record = audit(present)
      // Upkeep removes the row with its deliveries, of which there may be too many for one request.
      await tx
        .update(webhooks)
        .set({ isActive: false, removedAt: record.createdAt })
        .where(eq(webhooks.id, webhookId))
      await insertAuditRecord(tx, record)
      return true
    })
  }

  /**
   * Stores an event for one webhook.
   * @returns its delivery, or null if it takes none
   * @throws AppError as `requireManager`
   */
  addEvent(actor: Actor, event: NewEvent): Promise<Delivery | null> {
    return this.changeAs(actor, async (tx) => {
      const [deliveryId] = await insertEvent(tx, event)
      return deliveryId === undefined ? null : findDelivery(tx, deliveryId)
    })
  }

  async deliveries(
    webhookId: string,
    state: DeliveryState | undefined,
    page: PageRequest,
  ): Promise<Page<Delivery>> {
    const table = webhookDeliveries
    const deliveries = this.db
      .select(DELIVERY)
      .from(table)
      .innerJoin(webhookEvents, eq(webhookEvents.id, table.eventId))
    const isState = state && eq(table.state, state)
    return readPage(deliveries, page, table.id, eq(table.webhookId, webhookId), isState)
  }

  /**
   * Lets a delivery wait for an attempt at once: from its first one, if it is finished.
   *
   * @returns null if the webhook has no such delivery
   * @throws AppError as `requireManager`
   */
  replay(actor: Actor, webhookId: string, deliveryId: string): Promise<Delivery | null> {
    return this.changeAs(actor, async (tx) => {
      await tx
        .update(webhookDeliveries)
        .set({
          state: 'waiting',
          // An attempt under way keeps its number: its end must not count for the next one.
          attempts: sql`case when ${webhookDeliveries.state} = 'waiting'
            then ${webhookDeliveries.attempts} else 0 end`,
          nextAttemptAt: sql`now()`,
          finishedAt: null,
        })
        .where(
          and(eq(webhookDeliveries.id, deliveryId), eq(webhookDeliveries.webhookId, webhookId)),
        )
      const found = await findDelivery(tx, deliveryId, webhookId)
      return found
    })
  }

  /**
   * The same for dead deliveries, the oldest first.
   * @returns how many there were
   * @throws AppError as `requireManager`
   */
  replayDead(actor: Actor, webhookId: string, limit: number): Promise<number> {
    return this.changeAs(actor, async (tx) => {
      const dead = tx
        .select({ id: webhookDeliveries.id })
        .from(webhookDeliveries)
        .where(and(eq(webhookDeliveries.webhookId, webhookId), eq(webhookDeliveries.state, 'dead')))
        .orderBy(webhookDeliveries.id)
        .limit(limit)
      const replayed = await tx
        .update(webhookDeliveries)
        .set({ state: 'waiting', attempts: 0, nextAttemptAt: sql`now()`, finishedAt: null })
        .where(sql`${webhookDeliveries.id} in ${dead}`)
        .returning({ id: webhookDeliveries.id })
      return replayed.length
    })
  }

  /** Runs a change in a transaction, once its actor has proved to be a manager at this moment. */
  private changeAs<T>(
    { userId, teamId }: Actor,
    change: (tx: Transaction) => Promise<T>,
  ): Promise<T> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      requireManager(await managerNow(tx, { userId, teamId }))
      return change(tx)
    })
  }
}

async function countWebhooks(db: Database, teamId: string): Promise<number> {
  const [row] = await db
    .select({ count: sql<number>`count(*)::integer` })
    .from(webhooks)
    .where(and(eq(webhooks.teamId, teamId), isThere))
  return row?.count ?? 0
}

async function findWebhook(
  db: Database,
  teamId: string,
  webhookId: string,
): Promise<(Webhook & SealedSecrets) | null> {
  const [row] = await db
    .select()
    .from(webhooks)
    .where(and(eq(webhooks.id, webhookId), eq(webhooks.teamId, teamId), isThere))
  return row === undefined ? null : readWebhook(row)
}

async function findDelivery(
  tx: Transaction,
  deliveryId: string,
  webhookId?: string,
): Promise<Delivery | null> {
  const [row] = await tx
    .select(DELIVERY)
    .from(webhookDeliveries)
    .innerJoin(webhookEvents, eq(webhookEvents.id, webhookDeliveries.eventId))
    .where(
      and(
        eq(webhookDeliveries.id, deliveryId),
        webhookId === undefined ? undefined : eq(webhookDeliveries.webhookId, webhookId),
      ),
    )
  return row ?? null
}

/** The schema of the routes has checked the types. */
function readWebhook(row: typeof webhooks.$inferSelect): Webhook & SealedSecrets {
  return { ...row, types: row.types as EventType[] | null }
}

function readTypes(types: readonly EventType[] | null): string[] | null {
  return types === null ? null : [...types]
}
