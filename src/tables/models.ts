import { sql } from 'drizzle-orm'
import { check, index, pgTable, text } from 'drizzle-orm/pg-core'
import { teams } from './auth.ts'
import { idText, jsonText, moment } from './columns.ts'

/**
 * Registered scorecards. Written by deploy; only `status` changes later; never deleted, because
 * answers refer to them for years.
 */
export const models = pgTable(
  'models',
  {
    id: idText('id').primaryKey(),
    teamId: idText('team_id')
      .notNull()
      .references(() => teams.id),
    name: text('name').notNull(),
    version: text('version').notNull(),
    specVersion: text('spec_version').notNull(),
    environment: text('environment').notNull(),
    status: text('status').notNull(),
    description: text('description'),
    spec: jsonText('spec').notNull(),
    /** Of an imported card that was checked against the scores of its tool: what was compared. */
    parity: jsonText('parity'),
    /** A user; no reference, because the user may be removed and the record stays. */
    deployedBy: idText('deployed_by').notNull(),
    createdAt: moment('created_at').notNull(),
    updatedAt: moment('updated_at').notNull(),
  },
  (table) => [
    index('models_team').on(table.teamId, table.id),
    index('models_version').on(table.teamId, table.name, table.version),
    check('models_environment', sql`${table.environment} in ('production', 'staging')`),
    check('models_status', sql`${table.status} in ('active', 'archived')`),
  ],
)
