import { and, asc, desc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Environment } from '../../http/access/caller.ts'
import type { Consequence, NewAuditRecord } from '../../identity/audit/record.ts'
import { insertAuditRecord, lockTeam } from '../../identity/audit/writer.ts'
import { askedRow } from '../../platform/db/asked-rows.ts'
import { type Database, DatabaseStore, type Transaction } from '../../platform/db/client.ts'
import { parseStoredJson } from '../../platform/json.ts'
import { type Page, type PageRequest, readPage } from '../../platform/paging.ts'
import { challengers, deployments } from '../../tables/deployments.ts'
import { models } from '../../tables/models.ts'
import { reasonBaselinesInForce } from '../../tables/reasons.ts'
import type { ChangeRequest } from './approval.ts'
import type { Candidate, Challenger, ChangeReader, Deployment } from './deployment.ts'
import type { FeatureChange } from './feature-change.ts'
import { retireModel, setModelStatus } from './model-status.ts'
import { endOutdated, insertRequest, type Proposal, undonePromotion } from './request-writer.ts'
import { evaluateAnew, readLevels, setLevels } from './stability-evaluations.ts'
import type { Change } from './succession.ts'

/** @param consequences new statuses of models, and challengers that ended elsewhere */
export type AuditOf = (present: Deployment, change: Change, consequences: object) => NewAuditRecord

export interface Changed {
  readonly before: Deployment
  /** The state after the change; its `challengers` are the active ones. */
  readonly after: Deployment
  /** See `Change`. */
  readonly challengerId: string | null
  /** See `Change`. */
  readonly features: FeatureChange | undefined
  /** Ids of all deployments whose scores the change can alter. */
  readonly touchedIds: readonly string[]
}

export interface DeploymentFilter {
  readonly environment?: Environment | undefined
}

export interface DeploymentSummary {
  readonly id: string
  readonly name: string
  readonly environment: Environment
  readonly isActive: boolean
  readonly shadowMode: boolean
  readonly champion: { readonly name: string; readonly version: string }
  readonly createdAt: Date
}

export interface Proposed {
  readonly request: ChangeRequest
}

const champion = alias(models, 'champion')
const previousChampion = alias(models, 'previous_champion')
const challengerModel = alias(models, 'challenger_model')

/** Deployments and their challengers in PostgreSQL. */
export class DeploymentStore extends DatabaseStore {
  async list(
    teamId: string,
    { environment }: DeploymentFilter,
    page: PageRequest,
  ): Promise<Page<DeploymentSummary>> {
    const summaries = this.db
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
    return readPage(
      summaries,
      page,
      deployments.id,
      eq(deployments.teamId, teamId),
      environment && eq(deployments.environment, environment),
    )
  }

  find(teamId: string, deploymentId: string): Promise<Deployment | null> {
    return readDeployment(this.db, teamId, deploymentId)
  }

  /**
   * Makes one change in one transaction, together with its audit record and the resulting statuses
   * of models. No other change in the team overlaps it.
   *
   * @param decide derives the next state from the present one; an error rolls everything back
   * @returns null if the deployment does not exist
   */
  change({
    teamId,
    deploymentId,
    userId,
    at,
    decide,
    audit,
  }: {
    readonly teamId: string
    readonly deploymentId: string
    readonly at: Date
    /** The member who makes the change, for the requesters of a proposal. */
    readonly userId: string
    readonly decide: (present: Deployment, read: ChangeReader) => Promise<Change | Proposal>
    readonly audit: AuditOf
  }): Promise<Changed | Proposed | null> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const before = await readDeployment(tx, teamId, deploymentId)
      if (before === null) return null
      const decided = await decide(before, makeReader(tx, teamId))
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
  if (change.alarm !== undefined) await setLevels(tx, next, change.alarm.after)
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
  const { challengerId, features } = change
  return { before, after, challengerId, features, touchedIds }
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
      cutoff: deployments.cutoff,
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
  const first = askedRow(rows, ({ id }) => id === deploymentId)
  if (first === null) return null
  const { challenger: _challenger, model: _model, ...deployment } = first
  return {
    ...deployment,

    challengers: rows.flatMap(({ challenger, model }): Challenger[] =>
      challenger === null || model === null ? [] : [{ ...challenger, model }],
    ),
  }
}

export function makeReader(tx: Transaction, teamId: string): ChangeReader {
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
    undonePromotion: (deployment) => undonePromotion(tx, deployment),
    alarm: ({ id }) => readLevels(tx, id),
    reasonBaseline: ({ id }, modelId) => readBaselineInForce(tx, id, modelId),
    featureNames: (modelIds) => readFeatureNames(tx, modelIds),
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
      cutoff: next.cutoff,
      cacheVersion: next.cacheVersion,
      updatedAt: at,
    })
    .where(eq(deployments.id, next.id))
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

/** Reads the names of the features of models, in the order of each specification. */
async function readFeatureNames(
  tx: Transaction,
  modelIds: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const names = new Map<string, readonly string[]>()
  for (const modelId of modelIds) {
    // One at a time, and as text: a driver would read it with JSON.parse, see `parseStoredJson`.
    const [row] = await tx
      .select({ text: sql<string>`${models.spec}::text` })
      .from(models)
      .where(inArray(models.id, [modelId]))
    if (row === undefined) continue
    names.set(modelId, namesIn(parseStoredJson(row.text)))
  }
  return names
}

/** Names none for a specification that was damaged in the database: its model scores nobody. */
function namesIn(spec: unknown): string[] {
  const features = (spec as { readonly features?: unknown } | null)?.features
  if (!Array.isArray(features)) return []
  return features
    .map((feature: { readonly name?: unknown } | null) => feature?.name)
    .filter((name) => typeof name === 'string')
}

/**
 * Measures the reasons of a model against another baseline, if a change does.
 *
 * @returns what the audit record says of it
 */
async function putBaselineInForce(
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
async function readBaselineInForce(
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
