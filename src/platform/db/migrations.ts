import { fileURLToPath } from 'node:url'

/**
 * Directory in which drizzle's migrators find the migrations. PostgreSQL and the embedded database
 * share them.
 */
export const MIGRATIONS = {
  migrationsFolder: fileURLToPath(new URL('../../../drizzle/migrations', import.meta.url)),
}
