import { and, desc, eq, isNull, sql } from 'drizzle-orm'
import { lockTeam } from '../audit/lock-team.ts'
import type { NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord } from '../audit/writer.ts'
import type { EventType, NewEvent } from '../outbox/event.ts'
import { insertEvent } from '../outbox/writer.ts'
import type { Database, Transaction } from '../platform/db/client.ts'
import { type Page, type PageRequest, pageOf, rowsAfter, rowsToRead } from '../platform/paging.ts'
import { webhookDeliveries, webhookEvents, webhooks } from '../tables/webhooks.ts'
import type { WebhookStore } from './service.ts'
import type { Delivery, DeliveryState, SealedSecrets, Webhook } from './webhook.ts'

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

/** Webhooks in PostgreSQL. */
export class PostgresWebhookStore implements WebhookStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  count(teamId: string): Promise<number> {
    return countOf(this.db, teamId)
  }

  add(webhook: Webhook & SealedSecrets, audit: NewAuditRecord, max: number): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, webhook.teamId)
      if ((await countOf(tx, webhook.teamId)) >= max) return false
      await tx.insert(webhooks).values({ ...webhook, types: typesOf(webhook.types) })
      await insertAuditRecord(tx, audit)
      return true
    })
  }

  async list(teamId: string, page: PageRequest): Promise<Page<Webhook>> {
    const rows = await this.db
      .select()
      .from(webhooks)
      .where(and(eq(webhooks.teamId, teamId), isThere, rowsAfter(page, webhooks.id)))
      .orderBy(desc(webhooks.id))
      .limit(rowsToRead(page))
    return pageOf(rows.map(webhookOf), page)
  }

  find(teamId: string, webhookId: string): Promise<Webhook | null> {
    return findWebhook(this.db, teamId, webhookId)
  }

  change(
    teamId: string,
    webhookId: string,
    at: Date,
    decide: Parameters<WebhookStore['change']>[3],
  ): Promise<Webhook | null> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const present = await findWebhook(tx, teamId, webhookId)
      if (present === null) return null
      const { change, audit } = decide(present)
      const { types, ...others } = change
      await tx
        .update(webhooks)
        .set({ ...others, ...(types !== undefined && { types: typesOf(types) }), updatedAt: at })
        .where(eq(webhooks.id, webhookId))
      await insertAuditRecord(tx, audit)
      return { ...present, ...change, updatedAt: at }
    })
  }

  remove(
    teamId: string,
    webhookId: string,
    audit: (present: Webhook) => NewAuditRecord,
  ): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const present = await findWebhook(tx, teamId, webhookId)
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

  addEvent(event: NewEvent): Promise<Delivery | null> {
    return this.db.transaction(async (tx) => {
      const [deliveryId] = await insertEvent(tx, event)
      return deliveryId === undefined ? null : findDelivery(tx, deliveryId)
    })
  }

  async deliveries(
    webhookId: string,
    state: DeliveryState | undefined,
    page: PageRequest,
  ): Promise<Page<Delivery>> {
    const rows = await this.db
      .select(DELIVERY)
      .from(webhookDeliveries)
      .innerJoin(webhookEvents, eq(webhookEvents.id, webhookDeliveries.eventId))
      .where(
        and(
          eq(webhookDeliveries.webhookId, webhookId),
          state && eq(webhookDeliveries.state, state),
          rowsAfter(page, webhookDeliveries.id),
        ),
      )
      .orderBy(desc(webhookDeliveries.id))
      .limit(rowsToRead(page))
    return pageOf(rows, page)
  }

  replay(webhookId: string, deliveryId: string): Promise<Delivery | null> {
    return this.db.transaction(async (tx) => {
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

  async replayDead(webhookId: string, limit: number): Promise<number> {
    const dead = this.db
      .select({ id: webhookDeliveries.id })
      .from(webhookDeliveries)
      .where(and(eq(webhookDeliveries.webhookId, webhookId), eq(webhookDeliveries.state, 'dead')))
      .orderBy(webhookDeliveries.id)
      .limit(limit)
    const replayed = await this.db
      .update(webhookDeliveries)
      .set({ state: 'waiting', attempts: 0, nextAttemptAt: sql`now()`, finishedAt: null })
      .where(sql`${webhookDeliveries.id} in ${dead}`)
      .returning({ id: webhookDeliveries.id })
    return replayed.length
  }
}

async function countOf(db: Database, teamId: string): Promise<number> {
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
  return row === undefined ? null : webhookOf(row)
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
function webhookOf(row: typeof webhooks.$inferSelect): Webhook & SealedSecrets {
  return { ...row, types: row.types as EventType[] | null }
}

function typesOf(types: readonly EventType[] | null): string[] | null {
  return types === null ? null : [...types]
}
