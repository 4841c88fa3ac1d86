import { sql } from 'drizzle-orm'
import type { NewAuditRecord } from '../../identity/audit/record.ts'
import { insertAuditRecord } from '../../identity/audit/writer.ts'
import { queryRows, type Transaction } from '../../platform/db/client.ts'
import { DatabaseStore } from '../../platform/db/store.ts'
import { checkHeld, type Holding } from './lease.ts'

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

  /** Remembers a token before it is left in the store. */
  addOwner(lease: Holding, own: OwnIdentity, owner: string): Promise<void> {
    return this.db.transaction((tx) => addOwner(tx, lease, own, owner))
  }

  /** Remembers a token that another copy of the database has left, and records that. */
  adopt(
    lease: Holding,
    own: OwnIdentity,
    owner: string,
    records: readonly NewAuditRecord[],
  ): Promise<void> {
    return this.db.transaction(async (tx) => {
      await addOwner(tx, lease, own, owner)
      for (const record of records) await insertAuditRecord(tx, record)
    })
  }
}

async function addOwner(
  tx: Transaction,
  lease: Holding,
  { archiveId, owners }: OwnIdentity,
  owner: string,
): Promise<void> {
  const kept = JSON.stringify([...owners, owner].slice(-OWNERS_MAX))
  await checkHeld(tx, lease)
  await tx.execute(sql`update score_archive set owners = ${kept}::text::json
    where name = 'log' and archive_id = ${archiveId}`)
}
