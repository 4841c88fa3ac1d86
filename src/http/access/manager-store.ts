import { and, eq, isNull } from 'drizzle-orm'
import type { Transaction } from '../platform/db/client.ts'
import { users } from '../tables/auth.ts'
import { serviceAccounts } from '../tables/service-accounts.ts'
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
  const [member] = await tx
    .select({ role: users.role, email: users.email, since: users.createdAt })
    .from(users)
    .where(and(eq(users.id, userId), eq(users.teamId, teamId)))
  return member ?? accountNow(tx, userId, teamId)
}

async function accountNow(
  tx: Transaction,
  accountId: string,
  teamId: string,
): Promise<PresentManager | null> {
  const [account] = await tx
    .select({ role: serviceAccounts.role, since: serviceAccounts.createdAt })
    .from(serviceAccounts)
    .where(
      and(
        eq(serviceAccounts.id, accountId),
        eq(serviceAccounts.teamId, teamId),
        isNull(serviceAccounts.revokedAt),
      ),
    )
  return account === undefined ? null : { ...account, email: null }
}
