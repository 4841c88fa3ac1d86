import { eq, inArray, sql } from 'drizzle-orm'
import type { Transaction } from '../../platform/db/client.ts'
import { stabilityAlarms } from '../../tables/stability.ts'
import type { AlarmLevels, Deployment } from './deployment.ts'

/** Puts a deployment first in the queue. An evaluation under way ends without effect. */
const ANEW = { dueAt: sql`now()`, runner: null, leasedUntil: null }

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
    .set(ANEW)
    .where(inArray(stabilityAlarms.deploymentId, [...deploymentIds]))
}

/** The levels of an alarm; null if they were never set. */
export async function readLevels(
  tx: Transaction,
  deploymentId: string,
): Promise<AlarmLevels | null> {
  const [row] = await tx
    .select()
    .from(stabilityAlarms)
    .where(eq(stabilityAlarms.deploymentId, deploymentId))
  return row ?? null
}

/** Sets the levels of an alarm. Its deployment is evaluated anew within a minute. */
export async function setLevels(
  tx: Transaction,
  { id: deploymentId, teamId }: Pick<Deployment, 'id' | 'teamId'>,
  { isOn, watch, act, nMin, days }: AlarmLevels,
): Promise<void> {
  const set = { isOn, watch, act, nMin, days, ...ANEW }
  await tx
    .insert(stabilityAlarms)
    .values({ deploymentId, teamId, moved: [], ...set })
    .onConflictDoUpdate({ target: stabilityAlarms.deploymentId, set })
}
