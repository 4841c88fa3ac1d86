import { sql } from 'drizzle-orm'
import { check, pgTable, smallint, text } from 'drizzle-orm/pg-core'
import { moment } from './columns.ts'

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
