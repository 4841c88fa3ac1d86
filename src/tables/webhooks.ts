import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { DeliveryState } from '../../schemas/webhooks.ts'
import { teamRef } from './auth.ts'
import { bytes, idText, jsonText, matchAllowed, moment } from './columns.ts'

/** Receivers of events. Written by `src/webhooks`; upkeep removes a row after its deliveries. */
export const webhooks = pgTable(
  'webhooks',
  {
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    url: text('url').notNull(),
    description: text('description'),
    /** Types of events that it gets; null: all. */
    types: text('types').array(),
    isActive: boolean('is_active').notNull(),
    /** Key of the signatures, sealed. */
    secret: bytes('secret').notNull(),
    /** Key before the last rotation, sealed; it signs, too, until `previousUntil`. */
    previousSecret: bytes('previous_secret'),
    previousUntil: moment('previous_until'),
    /** Which secret of the service seals both. */
    sealedWith: text('sealed_with').notNull(),
    /** True if so many deliveries wait that further events are left out. */
    isFull: boolean('is_full').notNull().default(false),
    /** Events that were left out. */
    missedEvents: integer('missed_events').notNull().default(0),
    /** First of the failures since the last delivery; null: the last attempt succeeded. */
    failingSince: moment('failing_since'),
    /** Id of the user or service account that made it. */
    createdBy: idText('created_by').notNull(),
    createdAt: moment('created_at').notNull(),
    updatedAt: moment('updated_at').notNull(),
    /** Removed, and hidden from then on; the row goes after its deliveries. */
    removedAt: moment('removed_at'),
  },
  (table) => [index('webhooks_team').on(table.teamId, table.id)],
)

/**
 * Events, written in the transaction of the change itself. A row goes once all of its deliveries
 * are gone. Events that no webhook wants are not stored.
 */
export const webhookEvents = pgTable(
  'webhook_events',
  {
    /** Also `webhook-id`, the same in each attempt. */
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    type: text('type').notNull(),
    /** Names ids; never a value of an applicant, nor a secret. */
    data: jsonText('data').notNull(),
    /** An event with the same key is not stored again; null: it is its own. */
    onceKey: text('once_key'),
    createdAt: moment('created_at').notNull(),
  },
  (table) => [
    uniqueIndex('webhook_events_once').on(table.teamId, table.onceKey),
    index('webhook_events_created').on(table.createdAt),
  ],
)

/**
 * An event on its way to a webhook. Any replica takes one that is due, and moves its next attempt
 * ahead while it tries; so an attempt whose process died is made again.
 */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    webhookId: idText('webhook_id')
      .notNull()
      .references(() => webhooks.id, { onDelete: 'cascade' }),
    eventId: idText('event_id')
      .notNull()
      .references(() => webhookEvents.id, { onDelete: 'cascade' }),
    state: text('state').$type<(typeof DeliveryState)['static']>().notNull(),
    /** Attempts that were begun. */
    attempts: integer('attempts').notNull(),
    nextAttemptAt: moment('next_attempt_at').notNull(),
    lastAttemptAt: moment('last_attempt_at'),
    /** HTTP status of the last attempt; null without an answer. */
    lastStatus: integer('last_status'),
    lastError: text('last_error'),
    /** When it was delivered or given up. */
    finishedAt: moment('finished_at'),
    createdAt: moment('created_at').notNull(),
  },
  (table) => [
    index('webhook_deliveries_due')
      .on(table.webhookId, table.nextAttemptAt)
      .where(sql`${table.state} = 'waiting'`),
    index('webhook_deliveries_list').on(table.webhookId, table.id),
    index('webhook_deliveries_event').on(table.eventId),
    index('webhook_deliveries_finished').on(table.finishedAt),
    check('webhook_deliveries_state', matchAllowed(table.state, DeliveryState)),
  ],
)
