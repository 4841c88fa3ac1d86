import { eq, sql } from 'drizzle-orm'
import type { Database, Transaction } from './client.ts'
import { teams } from './tables/auth.ts'

/** Things of which only one at a time may happen, over all replicas. */
type LockName = 'first_owner' | 'score_log_partitions'

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
 * Makes the changes of a team's things one after the other, until the transaction ends. All of them
 * take this lock first, so that none waits for another crosswise; reading waits for none of it.
 */
export async function lockTeam(tx: Transaction, teamId: string): Promise<void> {
  await tx.select({ id: teams.id }).from(teams).where(eq(teams.id, teamId)).for('no key update')
}
