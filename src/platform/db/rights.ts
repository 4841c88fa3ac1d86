import { sql } from 'drizzle-orm'
import { queryRows, type Statements } from './client.ts'
import { MissingRightsError } from './errors.ts'

const FUNCTIONS = [
  'make_log_partition(date)',
  'drop_log_partition(text)',
  'empty_score_keys(timestamptz)',
]

/**
 * Gives a role what the service needs to run, and nothing more: rows of its tables, but no change
 * to what the audit log has, and the functions that change partitions of the log.
 *
 * @param role a role of the database
 */
export async function grantRights(db: Statements, role: string): Promise<void> {
  const to = sql.identifier(role)
  const functions = sql.raw(FUNCTIONS.join(', '))
  for (const grant of [
    sql`grant usage on schema public, drizzle to ${to}`,
    sql`grant select on drizzle.__drizzle_migrations to ${to}`,
    sql`grant select, insert, update, delete on all tables in schema public to ${to}`,
    sql`revoke update, delete on audit_log from ${to}`,
    sql`revoke insert, update, delete on releases from ${to}`,
    sql`grant usage on all sequences in schema public to ${to}`,
    sql`grant execute on function ${functions} to ${to}`,
  ]) {
    await db.execute(grant)
  }
}

/**
 * Looks for what only fails later: without the right to make partitions a service runs for a week.
 *
 * @throws MissingRightsError
 */
export async function checkRights(db: Statements): Promise<void> {
  for (const name of FUNCTIONS) {
    const [right] = await queryRows<{ role: string; is_there: boolean }>(
      db,
      sql`select current_user::text as role,
        has_function_privilege(${name}, 'execute') as is_there`,
    )
    if (right?.is_there !== true) throw new MissingRightsError(right?.role ?? '')
  }
}
