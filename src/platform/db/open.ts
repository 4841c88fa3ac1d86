import type { DatabaseHandle, DatabaseOptions } from './client.ts'
import { openPostgres } from './postgres.ts'

/**
 * Opens the database and brings its tables up to date.
 *
 * @throws DatabaseOpenError if PostgreSQL can't be reached or refuses the connection
 * @throws LaterVersionError if a later version migrated it
 * @throws EmbeddedClosedError if the embedded database can't be opened
 */
export async function openDatabase(options: DatabaseOptions): Promise<DatabaseHandle> {
  if (options.url !== null) return openPostgres(options.url, options)
  // Loaded only where it is used: a replica on PostgreSQL needs none of its memory.
  const { openPglite } = await import('./embedded/pglite.ts')
  return openPglite(options)
}
