import { sql } from 'drizzle-orm'
import { bigint, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { teamRef } from './auth.ts'
import { idText, jsonText, moment } from './columns.ts'

/**
 * The record of each change, when and why. Written in the transaction of the change itself; a
 * trigger refuses to alter or remove a record.
 */
export const auditLog = pgTable(
  'audit_log',
  {
    id: idText('id').primaryKey(),
    /**
     * Rises with each record of a team, in the order of the changes: it is assigned under the
     * team's lock, which is held until the change is committed. The time in `id` is that of the
     * request.
     */
    position: bigint('position', { mode: 'number' }).notNull().generatedByDefaultAsIdentity(),
    teamId: teamRef(),
    /** Id of the user who made the change. */
    actor: text('actor').notNull(),
    /** The action, such as `model.deploy`. */
    action: text('action').notNull(),
    /** Id of what was changed. */
    subject: text('subject').notNull(),
    before: jsonText('before'),
    after: jsonText('after'),
    reason: text('reason'),
    createdAt: moment('created_at').notNull(),
  },
  (table) => [
    // For releases before this one, which list by id. The next release removes it.
    index('audit_log_team').on(table.teamId, table.id),
    uniqueIndex('audit_log_team_position').on(table.teamId, table.position),
    // Finds the changes of a deployment, which any member may ask for.
    index('audit_log_deployment')
      .on(table.subject, table.createdAt)
      .where(sql`${table.action} like 'deployment.%'`),
    // Finds who may hold the credentials of a service account, and whom a removal was about.
    index('audit_log_holders')
      .on(table.subject)
      .where(
        sql`${table.action} in ('service_account.create', 'service_account.rotate', 'member.delete')`,
      ),
    // Finds from whom a member has their role.
    index('audit_log_roles')
      .on(table.subject)
      .where(sql`${table.action} in ('member.create', 'member.update')`),
  ],
)
