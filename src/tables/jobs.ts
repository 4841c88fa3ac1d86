import { sql } from 'drizzle-orm'
import { bigint, index, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { teamRef } from './auth.ts'
import { idText, jsonText, moment } from './columns.ts'

/**
 * Work that takes longer than a request. Written by `src/jobs`; any replica takes a waiting job,
 * and one whose lease has run out. A row leaves a week after its job has ended.
 */
export const jobs = pgTable(
  'jobs',
  {
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    kind: text('kind').notNull(),
    /** `queued`, `running`, `done`, `failed` or `cancelled`. */
    status: text('status').notNull(),
    /** The order, as the kind defines it. */
    input: jsonText('input').notNull(),
    /** Null until the job is done. */
    result: jsonText('result'),
    /** Why it failed: a code and a message for the caller. */
    failure: jsonText('failure'),
    progressDone: bigint('progress_done', { mode: 'number' }).notNull(),
    progressTotal: bigint('progress_total', { mode: 'number' }).notNull(),
    /** Names the run that has the lease; null: none has it. */
    runner: text('runner'),
    /** Only a runner of this place takes it; null: any. */
    place: text('place'),
    /** The runner renews it; after that any replica may take the job. */
    leasedUntil: moment('leased_until'),
    /** Number of times that a run was begun; one that an outage interrupted does not count. */
    attempts: integer('attempts').notNull(),
    /** Number of times in a row that the database or a store was away during a run. */
    interruptions: integer('interruptions').notNull().default(0),
    /** Id of the user who started it. */
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull(),
    finishedAt: moment('finished_at'),
  },
  (table) => [
    index('jobs_open').on(table.teamId).where(sql`${table.finishedAt} is null`),
    index('jobs_finished').on(table.finishedAt),
  ],
)
