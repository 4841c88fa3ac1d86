import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { type Role, roleNamed } from '../../http/access/caller.ts'
import { managerNow } from '../../http/access/manager-store.ts'
import { queryRows, type Transaction } from '../../platform/db/client.ts'
import { auditLog } from '../../tables/audit.ts'
import type { Decider, Requesters, RoleGrant } from './approval.ts'

/** Everybody who may hold the credentials of a user or service account. The team must be locked. */
export async function readRequesters(
  tx: Transaction,
  of: { readonly teamId: string; readonly userId: string },
): Promise<Requesters> {
  const rows = await queryRows<{ id: string; email: string | null }>(tx, holdersQuery(of))
  return {
    ids: rows.map(({ id }) => id),
    emails: [...new Set(rows.flatMap(({ email }) => (email === null ? [] : [email])))],
  }
}

/**
 * Reads who decides, with how they came to their role. The team must be locked.
 *
 * @returns null for a member who was removed
 */
export async function readDecider(
  tx: Transaction,
  of: { readonly teamId: string; readonly userId: string },
): Promise<Decider | null> {
  const { teamId, userId } = of
  const manager = await managerNow(tx, of)
  if (manager === null) return null
  const rows = await tx
    .select({
      actor: auditLog.actor,
      before: sql<string | null>`${auditLog.before} ->> 'role'`,
      after: sql<string | null>`${auditLog.after} ->> 'role'`,
      at: auditLog.createdAt,
    })
    .from(auditLog)
    .where(
      and(
        eq(auditLog.teamId, teamId),
        eq(auditLog.subject, userId),
        inArray(auditLog.action, ['member.create', 'member.update']),
      ),
    )
  const grants: RoleGrant[] = []
  for (const { actor, before, after, at } of rows) {
    const role: Role | null = roleNamed(after)
    if (role === null) continue
    const by = await readRequesters(tx, { teamId, userId: actor })
    grants.push({ by, before: roleNamed(before), after: role, at })
  }
  return { ...manager, userId, grants }
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
