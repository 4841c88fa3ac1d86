import { bigint, index, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { bytes, idText, moment } from './columns.ts'

/**
 * Requests with an `Idempotency-Key`, and their answers. Written by `src/http/idempotency`; a row goes
 * when its request fails, or a day after its answer. It holds nothing that can be read without the
 * service's secret.
 */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    /** Keyed hash of caller, method, path, query and key. */
    keyHash: bytes('key_hash').primaryKey(),
    /** Keyed hash of the body. */
    bodyHash: bytes('body_hash').notNull(),
    /** Random name of the request that has the key. */
    claimId: text('claim_id').notNull(),
    /** Without an answer: until then the request counts as under way. Renewed while it is. */
    claimedUntil: moment('claimed_until').notNull(),
    /** Set in the transaction of a management change, which is then never made again. */
    changedAt: moment('changed_at'),
    /** Sealed; null: the request is under way, or its answer is lost. */
    answer: bytes('answer'),
    expiresAt: moment('expires_at').notNull(),
  },
  (table) => [index('idempotency_keys_expiry').on(table.expiresAt)],
)

/**
 * The amount kept of each team, by the hour in which it was kept. Each replica adds what it has
 * kept; a row goes when all that it counts has expired.
 */
export const idempotencyUsage = pgTable(
  'idempotency_usage',
  {
    teamId: idText('team_id').notNull(),
    hour: moment('hour').notNull(),
    answers: bigint('answers', { mode: 'number' }).notNull(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ name: 'idempotency_usage_identity', columns: [table.teamId, table.hour] }),
  ],
)
