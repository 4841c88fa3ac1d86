import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import type { Database, DatabaseHandle } from '../../../src/platform/db/client.ts'
import { openDatabase } from '../../../src/platform/db/open.ts'
import type { Backend, TestDatabase } from './databases.ts'

/**
 * The backend with a database that `seed` has written to before the service opens it: nobody else
 * can open the embedded one while the service runs.
 */
export function seeded(backend: Backend, seed: (db: Database) => Promise<void>): Backend {
  return {
    name: backend.name,
    create: async () => {
      const database = await backend.create()
      await withDatabase(database, seed)
      return database
    },
  }
}

/** Works on a test's database; on the embedded one only while no service has it open. */
export async function withDatabase<T>(
  { databaseUrl, dataDir }: Pick<TestDatabase, 'databaseUrl' | 'dataDir'>,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  const handle = await openTestDatabase({ databaseUrl, dataDir })
  try {
    return await work(handle.db)
  } finally {
    await handle.close()
  }
}

/** A new database without a service, for the test that runs. */
export async function databaseForTest(backend: Backend): Promise<DatabaseHandle> {
  const database = await backend.create()
  onTestFinished(() => database.drop())
  const handle = await openTestDatabase(database)
  onTestFinished(() => handle.close())
  return handle
}

/** A new database without a service, for all tests of a file or group. */
export function databaseForSuite(backend: Backend): Pick<DatabaseHandle, 'db'> {
  let database: TestDatabase | undefined
  let handle: DatabaseHandle | undefined
  beforeAll(async () => {
    database = await backend.create()
    handle = await openTestDatabase(database)
  })
  afterAll(async () => {
    await handle?.close()
    await database?.drop()
  })
  const opened = () => handle ?? expect.fail('the database is open')
  return {
    get db() {
      return opened().db
    },
  }
}

/**
 * Opens a test's database without a service; on the embedded one only while no service has it open.
 */
export function openTestDatabase({
  databaseUrl,
  dataDir,
}: Pick<TestDatabase, 'databaseUrl' | 'dataDir'>): Promise<DatabaseHandle> {
  return openDatabase({
    url: databaseUrl,
    directory: join(dataDir, 'postgres'),
    onCrash: (error) => {
      throw error
    },
  })
}
