import { and, asc, eq, isNull } from 'drizzle-orm'
import { DatabaseStore } from '../../platform/db/client.ts'
import { users } from '../../tables/auth.ts'
import { apiKeys, serviceAccounts } from '../../tables/keys.ts'
import type { NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord } from '../audit/writer.ts'

/** Something that opens a team's resources. */
export interface AccessRow {
  readonly kind: 'member' | 'service_account' | 'api_key'
  readonly id: string
  /** The email of a member. */
  readonly name: string
  readonly role: string | null
  readonly scopes: readonly string[] | null
  readonly environment: string | null
  readonly allowedAddresses: readonly string[] | null
  readonly createdBy: string | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  /** Last use, or last sign-in of a member. */
  readonly lastUsedAt: Date | null
}

const NO_KEY = { scopes: null, environment: null, allowedAddresses: null } as const

/** Members, service accounts and keys of a team in PostgreSQL, at one moment. */
export class AccessReviewStore extends DatabaseStore {
  /** All that opens a team's resources, by kind, each oldest first. */
  rows(teamId: string): Promise<readonly AccessRow[]> {
    return this.db.transaction(
      async (tx) => {
        const members = await tx
          .select()
          .from(users)
          .where(eq(users.teamId, teamId))
          .orderBy(asc(users.id))
        const accounts = await tx
          .select()
          .from(serviceAccounts)
          .where(and(eq(serviceAccounts.teamId, teamId), isNull(serviceAccounts.revokedAt)))
          .orderBy(asc(serviceAccounts.id))
        const keys = await tx
          .select()
          .from(apiKeys)
          .where(and(eq(apiKeys.teamId, teamId), isNull(apiKeys.revokedAt)))
          .orderBy(asc(apiKeys.id))
        return [
          ...members.map(
            (member): AccessRow => ({
              ...NO_KEY,
              kind: 'member',
              id: member.id,
              name: member.email,
              role: member.role,
              createdBy: null,
              createdAt: member.createdAt,
              expiresAt: null,
              lastUsedAt: member.lastSignInAt,
            }),
          ),
          ...accounts.map(
            (account): AccessRow => ({
              ...NO_KEY,
              kind: 'service_account',
              id: account.id,
              name: account.name,
              role: account.role,
              createdBy: account.createdBy,
              createdAt: account.createdAt,
              expiresAt: account.expiresAt,
              lastUsedAt: account.lastUsedAt,
            }),
          ),
          ...keys.map(
            (key): AccessRow => ({
              kind: 'api_key',
              id: key.id,
              name: key.name,
              role: null,
              scopes: key.scopes,
              environment: key.environment,
              allowedAddresses: key.allowedAddresses,
              createdBy: key.createdBy,
              createdAt: key.createdAt,
              expiresAt: key.expiresAt,
              lastUsedAt: key.lastUsedAt,
            }),
          ),
        ]
      },
      { isolationLevel: 'repeatable read', accessMode: 'read only' },
    )
  }

  async record(record: NewAuditRecord): Promise<void> {
    await this.db.transaction((tx) => insertAuditRecord(tx, record))
  }
}
