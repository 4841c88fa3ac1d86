import { pgTable, text } from 'drizzle-orm/pg-core'
import { moment } from './columns.ts'

/**
 * Versions of the service that migrated this database. Each writes its row after its migrations. A
 * version that finds migrations it does not know reads the rows, to name the later one. Rows stay.
 */
export const releases = pgTable('releases', {
  version: text('version').primaryKey(),
  migratedAt: moment('migrated_at').notNull(),
})
