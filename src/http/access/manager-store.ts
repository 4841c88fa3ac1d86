import { and, eq, isNull } from 'drizzle-orm'
import { askedRow } from '../../platform/db/asked-rows.ts'
import type { Transaction } from '../../platform/db/client.ts'
import { users } from '../../tables/auth.ts'
import { serviceAccounts } from '../../tables/keys.ts'
import type { PresentManager } from './manager.ts'

/**
 * Reads who makes a change, within its transaction. The team must be locked, so that nobody is
 * demoted or removed before the change is made.
 *
 * @returns null for a member who was removed, and for a service account that was revoked
 */
export async function managerNow(
  tx: Transaction,
  { userId, teamId }: { readonly userId: string; readonly teamId: string },
): Promise<PresentManager | null> {
  const members = await tx
    .select({ id: users.id, role: users.role, email: users.email, since: users.createdAt })
    .from(users)
    .where(and(eq(users.id, userId), eq(users.teamId, teamId)))
  const member = askedRow(members, ({ id }) => id === userId)
  if (member === null) return accountNow(tx, userId, teamId)
  const { role, email, since } = member
  return { role, email, since }
}

async function accountNow(
  tx: Transaction,
  accountId: string,
  teamId: string,
): Promise<PresentManager | null> {
  const accounts = await tx
    .select({
      id: serviceAccounts.id,
      role: serviceAccounts.role,
      since: serviceAccounts.createdAt,
    })
    .from(serviceAccounts)
    .where(
      and(
        eq(serviceAccounts.id, accountId),
        eq(serviceAccounts.teamId, teamId),
        isNull(serviceAccounts.revokedAt),
      ),
    )
  const account = askedRow(accounts, ({ id }) => id === accountId)
  return account === null ? null : { role: account.role, since: account.since, email: null }
}
