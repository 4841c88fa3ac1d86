import type { PGlite } from '@electric-sql/pglite'
import { drizzle } from 'drizzle-orm/pglite'
import { migrate } from 'drizzle-orm/pglite/migrator'
import type { DatabaseHandle, DatabaseOptions } from '../client.ts'
import { checkMigrations, MIGRATIONS, noteRelease } from '../releases.ts'
import { openEmbedded } from './embedded.ts'

/**
 * Opens the embedded database and migrates it. It takes no lock: this process alone holds the
 * directory.
 *
 * @throws LaterVersionError
 */
export async function openPglite(options: DatabaseOptions): Promise<DatabaseHandle> {
  const { directory, onCrash, queryLog, acceptedVersion = null } = options
  const embedded = await openEmbedded({ directory, onCrash })
  // It has the methods of PGlite that drizzle calls, and no others.
  const client = embedded as unknown as PGlite
  const db = drizzle({ client, ...(queryLog && { logger: queryLog }) })
  try {
    if (!(await checkMigrations(db, 'DATA_DIR', acceptedVersion))) {
      await migrate(db, MIGRATIONS)
      await noteRelease(db)
    }
  } catch (error) {
    await embedded.close()
    throw error
  }
  const ping = async () => void (await embedded.query('select 1'))
  const renew = () => {}
  return {
    db,
    ping,
    renew,
    apart: () => ({ db, renew, close: async () => {} }),
    url: null,
    hasAutovacuum: false,
    close: () => embedded.close(),
  }
}
