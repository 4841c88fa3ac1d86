import { index, pgTable, text } from 'drizzle-orm/pg-core'
import { teams } from './auth.ts'
import { idText, jsonText, moment } from './columns.ts'

/**
 * Who changed what, when and why. Written in the transaction of the change itself; a trigger refuses
 * to alter or remove a record.
 */
export const auditLog = pgTable(
  'audit_log',
  {
    id: idText('id').primaryKey(),
    teamId: idText('team_id')
      .notNull()
      .references(() => teams.id),
    /** Id of the user who did it. */
    actor: text('actor').notNull(),
    /** For instance `model.deploy`. */
    action: text('action').notNull(),
    /** Id of the thing that changed. */
    subject: text('subject').notNull(),
    before: jsonText('before'),
    after: jsonText('after'),
    reason: text('reason'),
    createdAt: moment('created_at').notNull(),
  },
  (table) => [index('audit_log_team').on(table.teamId, table.id)],
)
