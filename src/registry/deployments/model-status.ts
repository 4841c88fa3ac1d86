import { and, eq, inArray, ne, sql } from 'drizzle-orm'
import type { Consequence } from '../../identity/audit/record.ts'
import type { Transaction } from '../../platform/db/client.ts'
import { challengers, deployments } from '../../tables/deployments.ts'
import { models } from '../../tables/models.ts'
import type { Candidate } from './deployment.ts'

/** @returns whether the model had another status */
export async function setModelStatus(
  tx: Transaction,
  modelId: string,
  status: Candidate['status'],
  at: Date,
): Promise<boolean> {
  const changed = await tx
    .update(models)
    .set({ status, updatedAt: at })
    .where(and(eq(models.id, modelId), ne(models.status, status)))
    .returning({ id: models.id })
  return changed.length > 0
}

/**
 * Archives a model that is no longer the champion, unless it is the champion of another deployment,
 * or a challenger of one that requires approval: nothing ends there without it.
 */
export async function retireModel(
  tx: Transaction,
  modelId: string,
  at: Date,
): Promise<{ retired: Record<string, 'archived'> } & EndedChallengers> {
  if ((await isChampion(tx, modelId)) || (await findGuardedDeployment(tx, modelId)) !== null) {
    return { retired: {}, ended: [], states: [] }
  }
  return { retired: { [modelId]: 'archived' }, ...(await archiveModel(tx, modelId, at)) }
}

/** A challenger that ended because its model was archived, in the form of the audit log. */
interface EndedEntry {
  readonly challenger_id: string
  readonly deployment_id: string
}

/** Challengers that ended, and what webhooks hear of their deployments. */
interface EndedChallengers {
  readonly ended: readonly EndedEntry[]
  readonly states: readonly Consequence[]
}

export async function isChampion(tx: Transaction, modelId: string): Promise<boolean> {
  const [anywhere] = await tx
    .select({ id: deployments.id })
    .from(deployments)
    .where(eq(deployments.championModelId, modelId))
    .limit(1)
  return anywhere !== undefined
}

/** Id of a deployment that requires approval and has the model as an active challenger, or null. */
export async function findGuardedDeployment(
  tx: Transaction,
  modelId: string,
): Promise<string | null> {
  const [found] = await tx
    .select({ id: deployments.id })
    .from(challengers)
    .innerJoin(deployments, eq(deployments.id, challengers.deploymentId))
    .where(
      and(
        eq(challengers.modelId, modelId),
        eq(challengers.isActive, true),
        eq(deployments.requireApproval, true),
      ),
    )
    .limit(1)
  return found?.id ?? null
}

/**
 * Archives a model and ends its challenger entries. The team must be locked.
 *
 * @returns the ended entries, and the deployments that they ended in
 */
export async function archiveModel(
  tx: Transaction,
  modelId: string,
  at: Date,
): Promise<EndedChallengers> {
  await setModelStatus(tx, modelId, 'archived', at)
  const ended = await tx
    .update(challengers)
    .set({ isActive: false })
    .where(and(eq(challengers.modelId, modelId), eq(challengers.isActive, true)))
    .returning({ challenger_id: challengers.id, deployment_id: challengers.deploymentId })
  if (ended.length === 0) return { ended, states: [] }
  const ids = ended.map(({ deployment_id }) => deployment_id)
  const states = await tx
    .update(deployments)
    .set({ cacheVersion: sql`${deployments.cacheVersion} + 1`, updatedAt: at })
    .where(inArray(deployments.id, ids))
    .returning({
      subject: deployments.id,
      after: {
        is_active: deployments.isActive,
        champion_model_id: deployments.championModelId,
        previous_champion_model_id: deployments.previousChampionModelId,
        shadow_mode: deployments.shadowMode,
        strict_mode: deployments.strictMode,
        require_approval: deployments.requireApproval,
        cache_version: deployments.cacheVersion,
      },
    })
  const type = 'deployment.challenger_removed'
  return { ended, states: states.map((state) => ({ type, ...state })) }
}
