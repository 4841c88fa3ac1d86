import { sql } from 'drizzle-orm'
import { bigint, check, index, pgTable, primaryKey, smallint, text } from 'drizzle-orm/pg-core'
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

/**
 * One row: where all processes claim the keys of scores, see `src/http/idempotency/score-claims`. A
 * trigger of `idempotency_keys` makes the mode slow when a process of an earlier version, which does
 * not know it, claims a key.
 */
export const scoreClaims = pgTable(
  'score_claims',
  {
    id: smallint('id').primaryKey().default(1),
    /** Random name of the database. */
    place: text('place').notNull().default(sql`replace(gen_random_uuid()::text, '-', '')`),
    mode: text('mode').notNull().default('slow'),
    /** Name of the keys that Redis has, and the run of Redis that has them. */
    mark: text('mark').notNull().default(''),
    redisRun: text('redis_run').notNull().default(''),
    /** The process that copies keys into Redis. */
    loader: text('loader').notNull().default(''),
    /** No process leaves the mode slow before. */
    slowUntil: moment('slow_until').notNull(),
    /** When the mode was fast last; null: never. */
    fastAt: moment('fast_at'),
  },
  (table) => [
    check('score_claims_one', sql`${table.id} = 1`),
    check('score_claims_mode', sql`${table.mode} in ('slow', 'both', 'fast')`),
  ],
)

/** The right of each process to claim keys in a mode, which it renews. */
export const scoreClaimLeases = pgTable('score_claim_leases', {
  processId: text('process_id').primaryKey(),
  mode: text('mode').notNull(),
  mark: text('mark').notNull(),
  until: moment('until').notNull(),
})
