import { sql } from 'drizzle-orm'
import type { Database, Transaction } from './client.ts'

/** Things of which only one at a time may happen, over all replicas. */
type LockName = 'first_owner'

/** Runs `work` in a transaction that no other transaction with the same lock overlaps. */
export function withAdvisoryLock<T>(
  db: Database,
  name: LockName,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`)
    return work(tx)
  })
}
