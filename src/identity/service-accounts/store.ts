import { and, desc, eq, isNull, or, sql } from 'drizzle-orm'
import { managerNow } from '../access/manager-store.ts'
import { lockTeam } from '../audit/lock-team.ts'
import type { Actor, NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord } from '../audit/writer.ts'
import type { AdmitManager } from '../keys/key.ts'
import type { KeyUse } from '../keys/last-uses.ts'
import type { Database } from '../platform/db/client.ts'
import { type Page, type PageRequest, pageOf, rowsAfter, rowsToRead } from '../platform/paging.ts'
import { serviceAccounts } from '../tables/service-accounts.ts'
import type {
  NewServiceAccount,
  ServiceAccount,
  ServiceAccountStore,
  TokenHolder,
} from './service.ts'

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

/** Service accounts in PostgreSQL. */
export class PostgresServiceAccountStore implements ServiceAccountStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async add(account: NewServiceAccount, audit: NewAuditRecord, admit: AdmitManager): Promise<void> {
    const { teamId, createdBy: userId } = account
    await this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      admit(await managerNow(tx, { userId, teamId }))
      await tx.insert(serviceAccounts).values(account)
      await insertAuditRecord(tx, audit)
    })
  }

  async holderOf(tokenHash: string): Promise<TokenHolder | null> {
    const [row] = await this.db
      .select({
        id: serviceAccounts.id,
        teamId: serviceAccounts.teamId,
        role: serviceAccounts.role,
        tokenHash: serviceAccounts.tokenHash,
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
    if (row === undefined) return null
    const { id: userId, teamId, role, expiresAt, previousUntil } = row
    const isPresent = row.tokenHash === tokenHash
    const endMs = isPresent ? Number.POSITIVE_INFINITY : (previousUntil?.getTime() ?? 0)
    const caller = { kind: 'user', userId, teamId, role } as const
    return { caller, expiresAtMs: Math.min(expiresAt.getTime(), endMs) }
  }

  async ofTeam(teamId: string, page: PageRequest): Promise<Page<ServiceAccount>> {
    const rows = await this.db
      .select(ACCOUNT)
      .from(serviceAccounts)
      .where(
        and(
          eq(serviceAccounts.teamId, teamId),
          isNull(serviceAccounts.revokedAt),
          rowsAfter(page, serviceAccounts.id),
        ),
      )
      .orderBy(desc(serviceAccounts.id))
      .limit(rowsToRead(page))
    return pageOf(rows, page)
  }

  change(
    { userId, teamId }: Actor,
    accountId: string,
    decide: Parameters<ServiceAccountStore['change']>[2],
  ): ReturnType<ServiceAccountStore['change']> {
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

  /** Locks the rows in the order of their ids, so that replicas can't deadlock. */
  async noteUses(uses: readonly KeyUse[]): Promise<void> {
    const rows = JSON.stringify(uses)
    await this.db.execute(sql`
      with used as (
        select a.id, u."usedAt" as used_at
        from json_to_recordset(${rows}::json) as u("keyId" text, "usedAt" timestamptz)
        join ${serviceAccounts} a on a.id = u."keyId"
        order by a.id
        for no key update of a
      )
      update ${serviceAccounts} set last_used_at = used.used_at from used
      where ${serviceAccounts.id} = used.id
        and (${serviceAccounts.lastUsedAt} is null or ${serviceAccounts.lastUsedAt} < used.used_at)`)
  }
}
