import { and, eq, isNull, or, sql } from 'drizzle-orm'
import { managerNow } from '../../http/access/manager-store.ts'
import { askedRow } from '../../platform/db/asked-rows.ts'
import { type Database, DatabaseStore, queryRows } from '../../platform/db/client.ts'
import { type Page, type PageRequest, readPage } from '../../platform/paging.ts'
import { apiKeys, type serviceAccounts } from '../../tables/keys.ts'
import type { NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord, lockTeam } from '../audit/writer.ts'
import type { ActiveKey, AdmitManager, ApiKey, KeyChange, StoredCaller } from './key.ts'
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
 * Its text is made once: that takes longest, and busy keys are checked twice a minute. The database
 * does not see the name.
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
      previousKeyHash: apiKeys.previousKeyHash,
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
export class KeyStore {
  private readonly db: Database
  private readonly activeQuery: ReturnType<typeof activeKeys>

  constructor(db: Database) {
    this.db = db
    this.activeQuery = activeKeys(db)
  }

  /**
   * Adds the key and its audit record in one transaction.
   *
   * @param admit throws if its maker may no longer make it
   */
  async add(key: ApiKey, audit: NewAuditRecord, admit: AdmitManager): Promise<void> {
    await this.db.transaction(async (tx) => {
      await lockTeam(tx, key.teamId)
      admit(await managerNow(tx, { userId: key.createdBy, teamId: key.teamId }))
      await tx.insert(apiKeys).values(key)
      await insertAuditRecord(tx, audit)
    })
  }

  /** The active key with a secret, present or previous, of this hash; null if there is none. */
  async findActive(keyHash: string): Promise<StoredCaller | null> {
    const row = askedRow(await this.activeQuery.execute({ keyHash }), (one) =>
      [one.keyHash, one.previousKeyHash].includes(keyHash),
    )
    if (row === null) return null
    const { expiresAt, previousUntil, keyHash: presentHash, previousKeyHash: _, ...caller } = row
    const endMs = expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
    const isPresent = presentHash === keyHash
    const secretEndMs = isPresent ? endMs : Math.min(endMs, previousUntil?.getTime() ?? 0)
    return { ...caller, kind: 'key', expiresAtMs: secretEndMs }
  }

  /** A team's active keys, newest first. */
  ofTeam(teamId: string, page: PageRequest): Promise<Page<ActiveKey>> {
    const keys = this.db.select(KEY_IN_FORCE).from(apiKeys)
    return readPage(keys, page, apiKeys.id, eq(apiKeys.teamId, teamId), isNull(apiKeys.revokedAt))
  }

  /** Id of the team that owns an active key, or null. */
  async findTeam(keyId: string): Promise<string | null> {
    const [row] = await this.db
      .select({ teamId: apiKeys.teamId })
      .from(apiKeys)
      .where(and(eq(apiKeys.id, keyId), isNull(apiKeys.revokedAt)))
    return row?.teamId ?? null
  }

  /**
   * Changes an active key and writes the audit record, in one transaction.
   *
   * @returns the key before the change with the hashes of its secrets, or null if the team has no
   *   such active key
   */
  change({
    keyId,
    teamId,
    admitted,
    set,
    audit,
  }: KeyChange): Promise<{ key: ActiveKey; hashes: readonly string[] } | null> {
    const isTheKey = and(
      eq(apiKeys.id, keyId),
      eq(apiKeys.teamId, teamId),
      isNull(apiKeys.revokedAt),
    )
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      if (admitted !== null) {
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

  noteUses(uses: readonly KeyUse[]): Promise<void> {
    return writeLastUses(this.db, apiKeys, uses)
  }
}

/**
 * Writes last uses, unless a later use is already stored. Locks the rows in the order of their ids,
 * so that replicas that write the same keys can't deadlock.
 */
export async function writeLastUses(
  db: Database,
  table: typeof apiKeys | typeof serviceAccounts,
  uses: readonly KeyUse[],
): Promise<void> {
  const rows = JSON.stringify(uses)
  await db.execute(sql`
    with used as (
      select k.id, u."usedAt" as used_at
      from json_to_recordset(${rows}::json) as u("keyId" text, "usedAt" timestamptz)
      join ${table} k on k.id = u."keyId"
      order by k.id
      for no key update of k
    )
    update ${table} set last_used_at = used.used_at from used
    where ${table.id} = used.id
      and (${table.lastUsedAt} is null or ${table.lastUsedAt} < used.used_at)`)
}

/** Hashes of keys in force, the most recently used first. */
export class KeysInUseStore extends DatabaseStore {
  async list(hashesMax: number): Promise<string[]> {
    const rows = await queryRows<{ hash: string }>(
      this.db,
      sql`select hash from (
          select key_hash as hash, last_used_at, created_at from api_keys
          where revoked_at is null and (expires_at is null or expires_at > now())
          union all
          select previous_key_hash, last_used_at, created_at from api_keys
          where revoked_at is null and previous_key_hash is not null and previous_until > now()
        ) as in_force
        order by coalesce(last_used_at, created_at) desc limit ${hashesMax}::integer`,
    )
    return rows.map(({ hash }) => hash)
  }
}
