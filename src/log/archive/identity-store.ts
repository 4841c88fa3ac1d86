import { sql } from 'drizzle-orm'
import type { NewAuditRecord } from '../../identity/audit/record.ts'
import { insertAuditRecord } from '../../identity/audit/writer.ts'
import { DatabaseStore, queryRows } from '../../platform/db/client.ts'
import { type Holding, whileHeld } from './lease.ts'

/** The way this database knows its archive. */
export interface OwnIdentity {
  readonly archiveId: string
  /** Tokens that this database has left in the store, oldest first. */
  readonly owners: readonly string[]
}

/** Tokens that are remembered: a late write can bring one of the last back. */
const OWNERS_MAX = 200

/** The identity of the archive in PostgreSQL. */
export class IdentityStore extends DatabaseStore {
  async identity(): Promise<OwnIdentity> {
    const [row] = await queryRows<{ archive_id: string; owners: string | null }>(
      this.db,
      sql`select archive_id, owners::text as owners from score_archive where name = 'log'`,
    )
    if (row === undefined) throw new Error('the archive has no identity yet')
    return { archiveId: row.archive_id, owners: JSON.parse(row.owners ?? '[]') as string[] }
  }

  /**
   * Remembers a token before it is left in the store, or one that another copy of the database has
   * left there, with records of that.
   */
  addOwner(
    lease: Holding,
    { archiveId, owners }: OwnIdentity,
    owner: string,
    records: readonly NewAuditRecord[] = [],
  ): Promise<void> {
    const kept = JSON.stringify([...owners, owner].slice(-OWNERS_MAX))
    return whileHeld(this.db, lease, async (tx) => {
      await tx.execute(sql`update score_archive set owners = ${kept}::text::json
        where name = 'log' and archive_id = ${archiveId}`)
      for (const record of records) await insertAuditRecord(tx, record)
    })
  }
}
