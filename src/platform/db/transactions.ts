import { sql } from 'drizzle-orm'
import { type Database, queryRows, type Transaction } from './client.ts'

/** Locks of work that one replica does at a time. */
type LockName = 'first_owner' | 'score_log_partitions'
/** Work that one replica does and others leave to it. */
type TryLockName = 'score_blocks'

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

/**
 * Runs `work` in a transaction if no other transaction has the lock.
 *
 * @returns null if another has it
 */
export function unlessLocked<T>(
  db: Database,
  name: TryLockName,
  work: (tx: Transaction) => Promise<T>,
): Promise<T | null> {
  return db.transaction(async (tx) => {
    const [row] = await queryRows<{ taken: boolean }>(
      tx,
      sql`select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as taken`,
    )
    return row?.taken === true ? work(tx) : null
  })
}
