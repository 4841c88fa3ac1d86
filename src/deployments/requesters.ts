import { type SQL, sql } from 'drizzle-orm'
import { rowsOf, type Transaction } from '../platform/db/client.ts'
import type { Requesters } from './approval.ts'

/** Everybody who may hold the credentials of a user or service account. The team must be locked. */
export async function requestersOf(
  tx: Transaction,
  of: { readonly teamId: string; readonly userId: string },
): Promise<Requesters> {
  const rows = await rowsOf<{ id: string; email: string | null }>(tx, holdersQuery(of))
  return {
    ids: rows.map(({ id }) => id),
    emails: [...new Set(rows.flatMap(({ email }) => (email === null ? [] : [email])))],
  }
}

/**
 * Ids and addresses of the holders: the token of an account is shown to whoever made or rotated it,
 * who may be an account again. A member who was removed has the address of their removal. Both come
 * from the index `audit_log_holders`, however long the log is.
 */
export function holdersQuery({
  teamId,
  userId,
}: {
  readonly teamId: string
  readonly userId: string
}): SQL {
  return sql`with recursive holders (id) as (
      select ${userId}::text
      union
      select audit_log.actor from audit_log join holders on audit_log.subject = holders.id
      where audit_log.team_id = ${teamId}
        and audit_log.action in ('service_account.create', 'service_account.rotate')
    )
    select holders.id, coalesce(users.email, (
        select audit_log.before ->> 'email' from audit_log
        where audit_log.subject = holders.id and audit_log.team_id = ${teamId}
          and audit_log.action = 'member.delete'
        limit 1)) as email
    from holders left join users on users.id = holders.id`
}
