import { and, arrayContains, eq, inArray, isNull, or, sql } from 'drizzle-orm'
import type { EventType } from '../../schemas/webhooks.ts'
import type { Transaction } from '../platform/db/client.ts'
import { newId } from '../platform/ids.ts'
import { webhookDeliveries, webhookEvents, webhooks } from '../tables/webhooks.ts'

/**
 * Stores an event for each webhook that wants it, in the transaction of what happened: it is sent
 * if, and only if, that is committed. Without such a webhook nothing is stored.
 *
 * A webhook that is full gets no delivery, and counts the event as missed.
 *
 * @returns ids of the deliveries
 */
export async function insertEvent(tx: Transaction, event: NewEvent): Promise<readonly string[]> {
  const { teamId, type, at, data, onceKey, webhookId } = event
  const wanting = await tx
    .select({ id: webhooks.id, isFull: webhooks.isFull })
    .from(webhooks)
    .where(
      and(
        eq(webhooks.teamId, teamId),
        eq(webhooks.isActive, true),
        webhookId === undefined
          ? or(isNull(webhooks.types), arrayContains(webhooks.types, [type]))
          : eq(webhooks.id, webhookId),
      ),
    )
    // Nobody removes a webhook before its deliveries are stored.
    .for('key share')
  if (wanting.length === 0) return []
  const atMs = at.getTime()
  const eventId = newId('evt_', atMs)
  const stored = await tx
    .insert(webhookEvents)
    .values({ id: eventId, teamId, type, data, onceKey: onceKey ?? null, createdAt: at })
    .onConflictDoNothing({ target: [webhookEvents.teamId, webhookEvents.onceKey] })
    .returning({ id: webhookEvents.id })
  if (stored.length === 0) return []
  const [full, others] = [true, false].map((isFull) =>
    wanting.filter((webhook) => webhook.isFull === isFull).map(({ id }) => id),
  )
  if (full !== undefined && full.length > 0) {
    await tx
      .update(webhooks)
      .set({ missedEvents: sql`${webhooks.missedEvents} + 1` })
      .where(inArray(webhooks.id, full))
  }
  const deliveries = (others ?? []).map((id) => ({
    id: newId('dlv_', atMs),
    teamId,
    webhookId: id,
    eventId,
    state: 'waiting' as const,
    attempts: 0,
    // On the database's clock, which all replicas share.
    nextAttemptAt: sql`now()`,
    createdAt: at,
  }))
  if (deliveries.length > 0) await tx.insert(webhookDeliveries).values(deliveries)
  return deliveries.map(({ id }) => id)
}

export type { EventType }

/** Something that happened, for the webhooks of a team. */
export interface NewEvent {
  readonly teamId: string
  readonly type: EventType
  readonly at: Date
  /** Names ids, numbers and switches; never a value of an applicant, nor a secret. */
  readonly data: object
  /** An event with the same key is stored once in each team; absent: always. */
  readonly onceKey?: string
  /** The only webhook that gets it; absent: all that want its type. */
  readonly webhookId?: string
}
