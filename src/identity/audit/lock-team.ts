import { eq } from 'drizzle-orm'
import type { Transaction } from '../../platform/db/client.ts'
import { teams } from '../../tables/auth.ts'

/**
 * Serialises the changes to a team until the transaction ends.
 *
 * Every change takes this lock first, so that two changes never wait for each other. Reads don't
 * take it.
 */
export async function lockTeam(tx: Transaction, teamId: string): Promise<void> {
  await tx.select({ id: teams.id }).from(teams).where(eq(teams.id, teamId)).for('no key update')
}
