import { and, asc, desc, eq, inArray, ne, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { lockTeam } from '../audit/lock-team.ts'
import type { Consequence } from '../audit/record.ts'
import { insertAuditRecord } from '../audit/writer.ts'
import type { Database, Transaction } from '../platform/db/client.ts'
import { type Page, type PageRequest, pageOf, rowsAfter, rowsToRead } from '../platform/paging.ts'
import { challengers, deployments } from '../tables/deployments.ts'
import { models } from '../tables/models.ts'
import { reasonBaselinesInForce } from '../tables/reasons.ts'
import type { Candidate, Challenger, ChangeReader, Deployment } from './deployment.ts'
import { approvedSinceChampion, endOutdated, insertRequest } from './request-writer.ts'
import type {
  AuditOf,
  Changed,
  DeploymentFilter,
  DeploymentStore,
  DeploymentSummary,
  Proposed,
} from './service.ts'
import { evaluateAnew } from './stability-evaluations.ts'
import type { Change } from './succession.ts'

const champion = alias(models, 'champion')
const previousChampion = alias(models, 'previous_champion')
const challengerModel = alias(models, 'challenger_model')

/** Deployments and their challengers in PostgreSQL. */
export class PostgresDeploymentStore implements DeploymentStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async list(
    teamId: string,
    { environment }: DeploymentFilter,
    page: PageRequest,
  ): Promise<Page<DeploymentSummary>> {
    const rows = await this.db
      .select({
        id: deployments.id,
        name: deployments.name,
        environment: deployments.environment,
        isActive: deployments.isActive,
        shadowMode: deployments.shadowMode,
        champion: { name: champion.name, version: champion.version },
        createdAt: deployments.createdAt,
      })
      .from(deployments)
      .innerJoin(champion, eq(champion.id, deployments.championModelId))
      .where(
        and(
          eq(deployments.teamId, teamId),
          environment && eq(deployments.environment, environment),
          rowsAfter(page, deployments.id),
        ),
      )
      .orderBy(desc(deployments.id))
      .limit(rowsToRead(page))
    return pageOf(rows, page)
  }

  find(teamId: string, deploymentId: string): Promise<Deployment | null> {
    return readDeployment(this.db, teamId, deploymentId)
  }

  change({
    teamId,
    deploymentId,
    userId,
    at,
    decide,
    audit,
  }: Parameters<DeploymentStore['change']>[0]): Promise<Changed | Proposed | null> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const before = await readDeployment(tx, teamId, deploymentId)
      if (before === null) return null
      const decided = await decide(before, readerOf(tx, teamId))
      if (!('propose' in decided)) return applyChange(tx, { before, change: decided, at, audit })
      return { request: await insertRequest(tx, decided, { present: before, userId, at }) }
    })
  }
}

/**
 * Makes a change with its consequences and its audit record, and ends requests that wait for the
 * state before. The team must be locked. Direct and approved changes both come here.
 */
export async function applyChange(
  tx: Transaction,
  {
    before,
    change,
    at,
    audit,
  }: {
    readonly before: Deployment
    readonly change: Change
    readonly at: Date
    readonly audit: AuditOf
  },
): Promise<Changed> {
  const { next } = change
  await writeDeployment(tx, next, at)
  await writeChallengers(tx, before, next)
  const touchedIds = [next.id]
  let consequences = await putBaselineInForce(tx, next.id, change)
  const effects: Consequence[] = []
  if (next.champion.id !== before.champion.id) {
    const isRestored = await setModelStatus(tx, next.champion.id, 'active', at)
    const { retired, ended, states } = await retireModel(tx, before.champion.id, at)
    // The models of a deployment are of its environment.
    const after = { environment: next.environment }
    if (isRestored) effects.push({ type: 'model.restored', subject: next.champion.id, after })
    for (const subject of Object.keys(retired))
      effects.push({ type: 'model.archived', subject, after })
    effects.push(...states)
    const model_statuses = { [next.champion.id]: 'active', ...retired }
    consequences = { model_statuses, ...(ended.length > 0 && { challengers_ended: ended }) }
    for (const { deployment_id } of ended) touchedIds.push(deployment_id)
    await evaluateAnew(tx, [next.id])
  }
  await insertAuditRecord(tx, { ...audit(before, change, consequences), consequences: effects })
  await endOutdated(tx, next, at)
  const active = next.challengers.filter(({ isActive }) => isActive)
  const after = { ...next, challengers: active }
  return { before, after, challengerId: change.challengerId, touchedIds }
}

/** Uses a single statement, so that the result is a consistent snapshot. */
export async function readDeployment(
  db: Database,
  teamId: string,
  deploymentId: string,
): Promise<Deployment | null> {
  const rows = await db
    .select({
      id: deployments.id,
      teamId: deployments.teamId,
      name: deployments.name,
      environment: deployments.environment,
      isActive: deployments.isActive,
      shadowMode: deployments.shadowMode,
      strictMode: deployments.strictMode,
      requireApproval: deployments.requireApproval,
      emergencyRollback: deployments.emergencyRollback,
      cacheVersion: deployments.cacheVersion,
      createdAt: deployments.createdAt,
      champion: { id: champion.id, name: champion.name, version: champion.version },
      previousChampion: {
        id: previousChampion.id,
        name: previousChampion.name,
        version: previousChampion.version,
      },
      challenger: {
        id: challengers.id,
        trafficPct: challengers.trafficPct,
        isActive: challengers.isActive,
        addedAt: challengers.addedAt,
        bucketRanges: challengers.bucketRanges,
      },
      model: {
        id: challengerModel.id,
        name: challengerModel.name,
        version: challengerModel.version,
      },
    })
    .from(deployments)
    .innerJoin(champion, eq(champion.id, deployments.championModelId))
    .leftJoin(previousChampion, eq(previousChampion.id, deployments.previousChampionModelId))
    .leftJoin(
      challengers,
      and(eq(challengers.deploymentId, deployments.id), eq(challengers.isActive, true)),
    )
    .leftJoin(challengerModel, eq(challengerModel.id, challengers.modelId))
    .where(and(eq(deployments.id, deploymentId), eq(deployments.teamId, teamId)))
    .orderBy(asc(challengers.id))
  const [first] = rows
  if (first === undefined) return null
  const { challenger: _challenger, model: _model, ...deployment } = first
  return {
    ...deployment,

    challengers: rows.flatMap(({ challenger, model }): Challenger[] =>
      challenger === null || model === null ? [] : [{ ...challenger, model }],
    ),
  }
}

export function readerOf(tx: Transaction, teamId: string): ChangeReader {
  const candidates = (condition: SQL | undefined): Promise<Candidate[]> =>
    tx
      .select({
        id: models.id,
        name: models.name,
        version: models.version,
        environment: models.environment,
        status: models.status,
      })
      .from(models)
      .where(and(eq(models.teamId, teamId), condition))
      .orderBy(desc(models.id))
  return {
    model: async (modelId) => (await candidates(eq(models.id, modelId)))[0] ?? null,
    modelsOfVersion: ({ champion: { name }, environment }, version) =>
      candidates(
        and(
          eq(models.name, name),
          eq(models.version, version),
          eq(models.environment, environment),
          eq(models.status, 'active'),
        ),
      ),
    approvedSinceChampion: (deployment) => approvedSinceChampion(tx, deployment),
  }
}

async function writeDeployment(tx: Transaction, next: Deployment, at: Date): Promise<void> {
  await tx
    .update(deployments)
    .set({
      name: next.name,
      isActive: next.isActive,
      championModelId: next.champion.id,
      previousChampionModelId: next.previousChampion?.id ?? null,
      shadowMode: next.shadowMode,
      strictMode: next.strictMode,
      requireApproval: next.requireApproval,
      emergencyRollback: next.emergencyRollback,
      cacheVersion: next.cacheVersion,
      updatedAt: at,
    })
    .where(eq(deployments.id, next.id))
}

/** @returns what the audit record says of it */
async function putBaselineInForce(
  tx: Transaction,
  deploymentId: string,
  { reasonBaseline }: Change,
): Promise<object> {
  if (reasonBaseline === undefined) return {}
  const { modelId, baselineId } = reasonBaseline
  const table = reasonBaselinesInForce
  const [replaced] = await tx
    .select({ baselineId: table.baselineId })
    .from(table)
    .where(and(eq(table.deploymentId, deploymentId), eq(table.modelId, modelId)))
  await tx
    .insert(table)
    .values({ deploymentId, modelId, baselineId })
    .onConflictDoUpdate({ target: [table.deploymentId, table.modelId], set: { baselineId } })
  return {
    reason_baseline: {
      model_id: modelId,
      baseline_id: baselineId,
      replaced_baseline_id: replaced?.baselineId ?? null,
    },
  }
}

async function writeChallengers(
  tx: Transaction,
  before: Deployment,
  next: Deployment,
): Promise<void> {
  const present = new Map(before.challengers.map((challenger) => [challenger.id, challenger]))
  for (const { id, model, trafficPct, isActive, addedAt, bucketRanges } of next.challengers) {
    const changing = { trafficPct, isActive, bucketRanges: [...bucketRanges] }
    const old = present.get(id)
    if (old === undefined) {
      const row = { id, deploymentId: next.id, modelId: model.id, addedAt, ...changing }
      await tx.insert(challengers).values(row)
    } else if (
      old.isActive !== isActive ||
      old.trafficPct !== trafficPct ||
      old.bucketRanges.join() !== bucketRanges.join()
    ) {
      await tx.update(challengers).set(changing).where(eq(challengers.id, id))
    }
  }
}

/** @returns whether the model had another status */
async function setModelStatus(
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
async function retireModel(
  tx: Transaction,
  modelId: string,
  at: Date,
): Promise<{ retired: Record<string, 'archived'> } & EndedChallengers> {
  if ((await isChampion(tx, modelId)) || (await guardedDeploymentOf(tx, modelId)) !== null) {
    return { retired: {}, ended: [], states: [] }
  }
  return { retired: { [modelId]: 'archived' }, ...(await archiveModel(tx, modelId, at)) }
}

/** A challenger that ended because its model was archived, in the form of the audit log. */
export interface EndedEntry {
  readonly challenger_id: string
  readonly deployment_id: string
}

/** Challengers that ended, and what webhooks hear of their deployments. */
export interface EndedChallengers {
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
export async function guardedDeploymentOf(
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
