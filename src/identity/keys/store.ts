import { and, desc, eq, isNull, or, sql } from 'drizzle-orm'
import { managerNow } from '../access/manager-store.ts'
import { lockTeam } from '../audit/lock-team.ts'
import type { NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord } from '../audit/writer.ts'
import type { Database } from '../platform/db/client.ts'
import { type Page, type PageRequest, pageOf, rowsAfter, rowsToRead } from '../platform/paging.ts'
import { apiKeys } from '../tables/keys.ts'
import type { ActiveKey, AdmitManager, ApiKey, KeyChange, KeyStore, StoredCaller } from './key.ts'
import type { KeyUse } from './last-uses.ts'

const KEY_IN_FORCE = {
  id: apiKeys.id,
  name: apiKeys.name,
  keyPrefix: apiKeys.keyPrefix,
  scopes: apiKeys.scopes,
  environment: apiKeys.environment,
  rateLimitPerMinute: apiKeys.rateLimitPerMinute,
  createdBy: apiKeys.createdBy,
  createdAt: apiKeys.createdAt,
  expiresAt: apiKeys.expiresAt,
  allowedAddresses: apiKeys.allowedAddresses,
  lastUsedAt: apiKeys.lastUsedAt,
}

/**
 * Prepared, because building the SQL text takes longest and busy keys are checked twice a minute.
 */
const activeKeys = (db: Database) =>
  db
    .select({
      keyId: apiKeys.id,
      teamId: apiKeys.teamId,
      scopes: apiKeys.scopes,
      environment: apiKeys.environment,
      rateLimitPerMinute: apiKeys.rateLimitPerMinute,
      allowedAddresses: apiKeys.allowedAddresses,
      expiresAt: apiKeys.expiresAt,
      keyHash: apiKeys.keyHash,
      previousUntil: apiKeys.previousUntil,
    })
    .from(apiKeys)
    .where(
      and(
        or(
          eq(apiKeys.keyHash, sql.placeholder('keyHash')),
          eq(apiKeys.previousKeyHash, sql.placeholder('keyHash')),
        ),
        isNull(apiKeys.revokedAt),
      ),
    )
    .prepare('key_in_force')

/** API keys in PostgreSQL. */
export class PostgresKeyStore implements KeyStore {
  private readonly db: Database
  private readonly activeQuery: ReturnType<typeof activeKeys>

  constructor(db: Database) {
    this.db = db
    this.activeQuery = activeKeys(db)
  }

  async add(key: ApiKey, audit: NewAuditRecord, admit: AdmitManager): Promise<void> {
    await this.db.transaction(async (tx) => {
      await lockTeam(tx, key.teamId)
      admit(await managerNow(tx, { userId: key.createdBy, teamId: key.teamId }))
      await tx.insert(apiKeys).values(key)
      await insertAuditRecord(tx, audit)
    })
  }

  async findActive(keyHash: string): Promise<StoredCaller | null> {
    const [row] = await this.activeQuery.execute({ keyHash })
    if (row === undefined) return null
    const { expiresAt, previousUntil, keyHash: presentHash, ...caller } = row
    const endMs = expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
    const isPresent = presentHash === keyHash
    const secretEndMs = isPresent ? endMs : Math.min(endMs, previousUntil?.getTime() ?? 0)
    return { ...caller, kind: 'key', expiresAtMs: secretEndMs }
  }

  async ofTeam(teamId: string, page: PageRequest): Promise<Page<ActiveKey>> {
    const rows = await this.db
      .select(KEY_IN_FORCE)
      .from(apiKeys)
      .where(
        and(eq(apiKeys.teamId, teamId), isNull(apiKeys.revokedAt), rowsAfter(page, apiKeys.id)),
      )
      .orderBy(desc(apiKeys.id))
      .limit(rowsToRead(page))
    return pageOf(rows, page)
  }

  async teamOf(keyId: string): Promise<string | null> {
    const [row] = await this.db
      .select({ teamId: apiKeys.teamId })
      .from(apiKeys)
      .where(and(eq(apiKeys.id, keyId), isNull(apiKeys.revokedAt)))
    return row?.teamId ?? null
  }

  change({ keyId, teamId, admitted, set, audit }: KeyChange): ReturnType<KeyStore['change']> {
    const isTheKey = and(
      eq(apiKeys.id, keyId),
      eq(apiKeys.teamId, teamId),
      isNull(apiKeys.revokedAt),
    )
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      if (admitted !== undefined) {
        admitted.admit(await managerNow(tx, { userId: admitted.userId, teamId }))
      }
      const [row] = await tx
        .select({
          ...KEY_IN_FORCE,
          keyHash: apiKeys.keyHash,
          previousKeyHash: apiKeys.previousKeyHash,
        })
        .from(apiKeys)
        .where(isTheKey)
      if (row === undefined) return null
      const { keyHash, previousKeyHash, ...key } = row
      const columns = set(key)
      const former = 'keyHash' in columns ? { previousKeyHash: keyHash } : {}
      await tx
        .update(apiKeys)
        .set({ ...columns, ...former })
        .where(isTheKey)
      await insertAuditRecord(tx, audit(key))
      return { key, hashes: [keyHash, previousKeyHash].filter((hash) => hash !== null) }
    })
  }

  /**
   * Locks the rows in the order of their ids, so that replicas that write the same keys can't
   * deadlock.
   */
  async noteUses(uses: readonly KeyUse[]): Promise<void> {
    const rows = JSON.stringify(uses)
    await this.db.execute(sql`
      with used as (
        select k.id, u."usedAt" as used_at
        from json_to_recordset(${rows}::json) as u("keyId" text, "usedAt" timestamptz)
        join ${apiKeys} k on k.id = u."keyId"
        order by k.id
        for no key update of k
      )
      update ${apiKeys} set last_used_at = used.used_at from used
      where ${apiKeys.id} = used.id
        and (${apiKeys.lastUsedAt} is null or ${apiKeys.lastUsedAt} < used.used_at)`)
  }
}
