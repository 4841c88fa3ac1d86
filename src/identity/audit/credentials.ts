import { and, eq, gt, isNull, or } from 'drizzle-orm'
import { askedRow } from '../../platform/db/asked-rows.ts'
import type { Database } from '../../platform/db/client.ts'
import { refreshTokens } from '../../tables/auth.ts'
import { serviceAccounts } from '../../tables/keys.ts'
import type { Credential } from './record.ts'

/** Tells whether whoever has signed in with it still is. */
export async function isInForce(db: Database, credential: Credential, now: Date): Promise<boolean> {
  // Its access token, which is at hand, says by itself until when it is valid.
  if ('sessionId' in credential) return isSessionOpen(db, credential.sessionId, null)
  const { tokenHash } = credential
  const { tokenHash: present, previousTokenHash: previous, previousUntil } = serviceAccounts
  const accounts = await db
    .select({ present, previous })
    .from(serviceAccounts)
    .where(
      and(
        or(eq(present, tokenHash), and(eq(previous, tokenHash), gt(previousUntil, now))),
        gt(serviceAccounts.expiresAt, now),
        isNull(serviceAccounts.revokedAt),
      ),
    )
  return askedRow(accounts, (one) => [one.present, one.previous].includes(tokenHash)) !== null
}

/**
 * Tells whether a family has a token that is neither revoked nor expired.
 *
 * @param now null: an expired one counts, too
 */
export async function isSessionOpen(
  db: Database,
  familyId: string,
  now: Date | null,
): Promise<boolean> {
  const tokens = await db
    .select({ familyId: refreshTokens.familyId })
    .from(refreshTokens)
    .where(
      and(
        eq(refreshTokens.familyId, familyId),
        isNull(refreshTokens.revokedAt),
        now === null ? undefined : gt(refreshTokens.expiresAt, now),
      ),
    )
    .limit(1)
  return askedRow(tokens, (token) => token.familyId === familyId) !== null
}
