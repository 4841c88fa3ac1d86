import { and, eq, isNull, or } from 'drizzle-orm'
import type { Role, UserCaller } from '../../http/access/caller.ts'
import type { PresentManager } from '../../http/access/manager.ts'
import { managerNow } from '../../http/access/manager-store.ts'
import { askedRow } from '../../platform/db/asked-rows.ts'
import { DatabaseStore } from '../../platform/db/client.ts'
import { type Page, type PageRequest, readPage } from '../../platform/paging.ts'
import { serviceAccounts } from '../../tables/keys.ts'
import type { Actor, NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord, lockTeam } from '../audit/writer.ts'
import type { AdmitManager } from '../keys/key.ts'
import type { KeyUse } from '../keys/last-uses.ts'
import { writeLastUses } from '../keys/store.ts'

/** The columns that a rotation or a revocation sets. */
export type AccountChange =
  | { readonly revokedAt: Date }
  | {
      readonly tokenHash: string
      readonly tokenPrefix: string
      readonly expiresAt: Date
      /** Until when the present token stays valid. */
      readonly previousUntil: Date
    }

export type NewServiceAccount = Omit<ServiceAccount, 'lastUsedAt'> & { readonly tokenHash: string }

/** A program that manages its team with a role. */
export interface ServiceAccount {
  readonly id: string
  readonly teamId: string
  readonly name: string
  readonly role: Role
  readonly tokenPrefix: string
  readonly createdBy: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly lastUsedAt: Date | null
}

/** The owner and the end of a token, and until when. */
export interface TokenHolder {
  readonly caller: UserCaller
  readonly expiresAtMs: number
}

const ACCOUNT = {
  id: serviceAccounts.id,
  teamId: serviceAccounts.teamId,
  name: serviceAccounts.name,
  role: serviceAccounts.role,
  tokenPrefix: serviceAccounts.tokenPrefix,
  createdBy: serviceAccounts.createdBy,
  createdAt: serviceAccounts.createdAt,
  expiresAt: serviceAccounts.expiresAt,
  lastUsedAt: serviceAccounts.lastUsedAt,
}

export class ServiceAccountStore extends DatabaseStore {
  /**
   * Adds the account and its audit record in one transaction.
   *
   * @param admit throws if its maker may no longer make it
   */
  async add(account: NewServiceAccount, audit: NewAuditRecord, admit: AdmitManager): Promise<void> {
    const { teamId, createdBy: userId } = account
    await this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      admit(await managerNow(tx, { userId, teamId }))
      await tx.insert(serviceAccounts).values(account)
      await insertAuditRecord(tx, audit)
    })
  }

  /** Returns who has this token, present or previous; null if it is unknown or revoked. */
  async findHolder(tokenHash: string): Promise<TokenHolder | null> {
    const rows = await this.db
      .select({
        id: serviceAccounts.id,
        teamId: serviceAccounts.teamId,
        role: serviceAccounts.role,
        tokenHash: serviceAccounts.tokenHash,
        previousTokenHash: serviceAccounts.previousTokenHash,
        expiresAt: serviceAccounts.expiresAt,
        previousUntil: serviceAccounts.previousUntil,
      })
      .from(serviceAccounts)
      .where(
        and(
          or(
            eq(serviceAccounts.tokenHash, tokenHash),
            eq(serviceAccounts.previousTokenHash, tokenHash),
          ),
          isNull(serviceAccounts.revokedAt),
        ),
      )
    const row = askedRow(rows, (one) => [one.tokenHash, one.previousTokenHash].includes(tokenHash))
    if (row === null) return null
    const { id: userId, teamId, role, expiresAt, previousUntil } = row
    const isPresent = row.tokenHash === tokenHash
    const endMs = isPresent ? Number.POSITIVE_INFINITY : (previousUntil?.getTime() ?? 0)
    const caller = { kind: 'user', userId, teamId, role, tokenHash } as const
    return { caller, expiresAtMs: Math.min(expiresAt.getTime(), endMs) }
  }

  /** A team's accounts that are not revoked, newest first. */
  ofTeam(teamId: string, page: PageRequest): Promise<Page<ServiceAccount>> {
    const { id, teamId: team, revokedAt } = serviceAccounts
    const accounts = this.db.select(ACCOUNT).from(serviceAccounts)
    return readPage(accounts, page, id, eq(team, teamId), isNull(revokedAt))
  }

  /**
   * Changes an account that is not revoked and writes the audit record, in one transaction.
   *
   * @param actor who changes it
   * @param decide derives the change from the present account and actor, who is null if they were
   *   removed; an error changes nothing
   * @returns the account before the change with all hashes that it had, or null without an account
   */
  change(
    { userId, teamId }: Actor,
    accountId: string,
    decide: (
      account: ServiceAccount,
      manager: PresentManager | null,
    ) => { set: AccountChange; audit: NewAuditRecord },
  ): Promise<{ account: ServiceAccount; hashes: readonly string[] } | null> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const isTheAccount = and(
        eq(serviceAccounts.id, accountId),
        eq(serviceAccounts.teamId, teamId),
        isNull(serviceAccounts.revokedAt),
      )
      const [row] = await tx
        .select({
          ...ACCOUNT,
          tokenHash: serviceAccounts.tokenHash,
          previousTokenHash: serviceAccounts.previousTokenHash,
        })
        .from(serviceAccounts)
        .where(isTheAccount)
      if (row === undefined) return null
      const { tokenHash, previousTokenHash, ...account } = row
      const { set, audit } = decide(account, await managerNow(tx, { userId, teamId }))
      const former = 'tokenHash' in set ? { previousTokenHash: tokenHash } : {}
      await tx
        .update(serviceAccounts)
        .set({ ...set, ...former })
        .where(isTheAccount)
      await insertAuditRecord(tx, audit)
      return { account, hashes: [tokenHash, previousTokenHash].filter((hash) => hash !== null) }
    })
  }

  noteUses(uses: readonly KeyUse[]): Promise<void> {
    return writeLastUses(this.db, serviceAccounts, uses)
  }
}
