import { and, eq } from 'drizzle-orm'
import type { Transaction } from '../../platform/db/client.ts'
import { reasonBaselinesInForce } from '../../tables/reasons.ts'
import type { Change } from './succession.ts'

/**
 * Measures the reasons of a model against another baseline, if a change does.
 *
 * @returns what the audit record says of it
 */
export async function putBaselineInForce(
  tx: Transaction,
  deploymentId: string,
  { reasonBaseline }: Change,
): Promise<object> {
  if (reasonBaseline === undefined) return {}
  const { modelId, baselineId, replacedId } = reasonBaseline
  const table = reasonBaselinesInForce
  await tx
    .insert(table)
    .values({ deploymentId, modelId, baselineId })
    .onConflictDoUpdate({ target: [table.deploymentId, table.modelId], set: { baselineId } })
  return {
    reason_baseline: {
      model_id: modelId,
      baseline_id: baselineId,
      replaced_baseline_id: replacedId,
    },
  }
}

/** Id of the reason baseline in force for a model; null if none is. */
export async function readBaselineInForce(
  tx: Transaction,
  deploymentId: string,
  modelId: string,
): Promise<string | null> {
  const table = reasonBaselinesInForce
  const [found] = await tx
    .select({ baselineId: table.baselineId })
    .from(table)
    .where(and(eq(table.deploymentId, deploymentId), eq(table.modelId, modelId)))
  return found?.baselineId ?? null
}
