import { fileURLToPath } from 'node:url'
import { sql } from 'drizzle-orm'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { compareVersions, refuseLater, UNKNOWN_VERSION, VERSION } from '../version.ts'
import { queryRows, type Statements } from './client.ts'

/**
 * Compares the migrations of the database, as drizzle notes them, with those of this version.
 *
 * @param variable names the database in the message
 * @param accepted later version whose database the operator accepts
 * @returns whether none is missing
 * @throws LaterVersionError if the database has one that this version does not know
 */
export async function checkMigrations(
  db: Statements,
  variable: string,
  accepted: string | null,
): Promise<boolean> {
  const [notes] = await queryRows<{ are_there: boolean }>(
    db,
    sql`select to_regclass('drizzle.__drizzle_migrations') is not null as are_there`,
  )
  if (notes?.are_there !== true) return false
  const applied = await queryRows<{ at: number }>(
    db,
    sql`select created_at::float8 as at from drizzle.__drizzle_migrations`,
  )
  const known = new Set(readMigrationFiles(MIGRATIONS).map(({ folderMillis }) => folderMillis))
  if (applied.some(({ at }) => !known.has(at))) {
    refuseLater(`the database of ${variable}`, await readLatestRelease(db), accepted)
  }
  const there = new Set(applied.map(({ at }) => at))
  return [...known].every((at) => there.has(at))
}

/** Notes that this version has migrated the database. */
export async function noteRelease(db: Statements): Promise<void> {
  await queryRows(
    db,
    sql`insert into releases (version, migrated_at) values (${VERSION}, now())
      on conflict (version) do nothing`,
  )
}

async function readLatestRelease(db: Statements): Promise<string> {
  const [table] = await queryRows<{ is_there: boolean }>(
    db,
    sql`select to_regclass('releases') is not null as is_there`,
  )
  if (table?.is_there !== true) return UNKNOWN_VERSION
  const rows = await queryRows<{ version: string }>(db, sql`select version from releases`)
  const [latest = UNKNOWN_VERSION] = rows
    .map((row) => row.version)
    .sort((a, b) => compareVersions(b, a))
  return latest
}

/**
 * Directory in which drizzle's migrators find the migrations. PostgreSQL and the embedded database
 * share them.
 */
export const MIGRATIONS = {
  migrationsFolder: fileURLToPath(new URL('../../../drizzle/migrations', import.meta.url)),
}
