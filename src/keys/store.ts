import { and, eq, isNull } from 'drizzle-orm'
import type { NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord } from '../audit/store.ts'
import type { Environment, KeyCaller } from '../auth/caller.ts'
import type { Database } from '../db/client.ts'
import { apiKeys } from '../db/tables/keys.ts'
import type { ApiKey, KeyStore } from './service.ts'

/** API keys in PostgreSQL. */
export class PostgresKeyStore implements KeyStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async add(key: ApiKey, audit: NewAuditRecord): Promise<void> {
    await this.db.transaction(async (tx) => {
      await tx.insert(apiKeys).values(key)
      await insertAuditRecord(tx, audit)
    })
  }

  async inForce(keyHash: string): Promise<KeyCaller | null> {
    const [row] = await this.db
      .select({
        keyId: apiKeys.id,
        teamId: apiKeys.teamId,
        scopes: apiKeys.scopes,
        environment: apiKeys.environment,
        rateLimitPerMinute: apiKeys.rateLimitPerMinute,
      })
      .from(apiKeys)
      .where(and(eq(apiKeys.keyHash, keyHash), isNull(apiKeys.revokedAt)))
    if (row === undefined) return null
    // The table's check holds the environment to the two there are.
    return { ...row, kind: 'key', environment: row.environment as Environment | null }
  }
}
