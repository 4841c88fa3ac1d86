import { inArray, sql } from 'drizzle-orm'
import type { Transaction } from '../platform/db/client.ts'
import { stabilityAlarms } from '../tables/stability.ts'

/**
 * Makes the stability of deployments be evaluated anew within a minute, where an alarm is set. An
 * evaluation that is under way ends without effect.
 */
export async function evaluateAnew(
  tx: Transaction,
  deploymentIds: readonly string[],
): Promise<void> {
  await tx
    .update(stabilityAlarms)
    .set({ dueAt: sql`now()`, runner: null, leasedUntil: null })
    .where(inArray(stabilityAlarms.deploymentId, [...deploymentIds]))
}
