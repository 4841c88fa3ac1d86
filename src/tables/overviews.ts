import { index, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { teamRef } from './auth.ts'
import { idText, jsonText, moment } from './columns.ts'
import { deployments } from './deployments.ts'

/**
 * The overview's facts of a deployment. A round of the service makes it from reports over whole
 * weeks, so that reading it costs one row. Never deleted.
 */
export const overviews = pgTable(
  'overviews',
  {
    deploymentId: idText('deployment_id')
      .primaryKey()
      .references(() => deployments.id),
    teamId: teamRef(),
    /** Rank of `attention`: the greater, the worse. */
    level: integer('level').notNull().default(0),
    /** Null before it was made. */
    facts: jsonText('facts'),
    /** Names what the facts were made of; with the same there is nothing to make anew. */
    basis: text('basis'),
    madeAt: moment('made_at'),
    dueAt: moment('due_at').notNull(),
    /** Names the process that makes it; after the lease any replica may. */
    runner: text('runner'),
    leasedUntil: moment('leased_until'),
  },
  (table) => [index('overviews_due').on(table.dueAt)],
)
