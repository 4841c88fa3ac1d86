import { and, eq } from 'drizzle-orm'
import type { NewAuditRecord } from '../../identity/audit/record.ts'
import { insertAuditRecord } from '../../identity/audit/writer.ts'
import { DatabaseStore } from '../../platform/db/client.ts'
import { mapPage, type Page, type PageRequest, readPage } from '../../platform/paging.ts'
import type { ReasonBaseline } from '../../scoring/reason-baseline.ts'
import { readBaseline } from '../../scoring/store.ts'
import { deployments } from '../../tables/deployments.ts'
import { models } from '../../tables/models.ts'
import { reasonBaselines, reasonBaselinesInForce } from '../../tables/reasons.ts'
/** The methods whose averages are computed from scores. */
export type BaselineMethod = 'mean_at_cutoff' | 'mean_all'

/** A baseline, and whether the next scores of its model are measured against it. */
export interface ListedBaseline extends StoredBaseline {
  readonly isInForce: boolean
}

/** A baseline as it was made; it never changes. */
export interface StoredBaseline {
  readonly id: string
  readonly deploymentId: string
  readonly modelId: string
  readonly method: BaselineMethod
  readonly cutoff: number | null
  readonly bandPoints: number | null
  readonly fromMs: number | null
  readonly toMs: number
  readonly minPopulation: number
  readonly n: number
  readonly dedupe: 'last' | 'none'
  /** Name and average points of each feature, in spec order. */
  readonly perFeature: readonly (readonly [string, number])[]
  readonly meanTotal: number
  readonly createdBy: string
  readonly createdAtMs: number
}

/** Reason baselines in PostgreSQL. */
export class ReasonStore extends DatabaseStore {
  /** Tells whether the team has the model in the environment of the deployment. */
  async hasModel(teamId: string, modelId: string, deploymentId: string): Promise<boolean> {
    const [row] = await this.db
      .select({ id: models.id })
      .from(models)
      .innerJoin(deployments, eq(deployments.environment, models.environment))
      .where(
        and(eq(models.id, modelId), eq(models.teamId, teamId), eq(deployments.id, deploymentId)),
      )
    return row !== undefined
  }

  /** The champion of a deployment with its baseline in force; null if the team has none such. */
  async findChampion(teamId: string, deploymentId: string) {
    const [row] = await this.db
      .select({
        modelId: deployments.championModelId,
        baselineId: reasonBaselinesInForce.baselineId,
      })
      .from(deployments)
      .leftJoin(
        reasonBaselinesInForce,
        and(
          eq(reasonBaselinesInForce.deploymentId, deployments.id),
          eq(reasonBaselinesInForce.modelId, deployments.championModelId),
        ),
      )
      .where(and(eq(deployments.id, deploymentId), eq(deployments.teamId, teamId)))
    return row ?? null
  }

  async insert(teamId: string, baseline: StoredBaseline, audit: NewAuditRecord): Promise<void> {
    const { fromMs, toMs, perFeature, createdAtMs, ...row } = baseline
    await this.db.transaction(async (tx) => {
      await tx.insert(reasonBaselines).values({
        ...row,
        teamId,
        startsAt: fromMs === null ? null : new Date(fromMs),
        endsAt: new Date(toMs),
        means: perFeature,
        createdAt: new Date(createdAtMs),
      })
      await insertAuditRecord(tx, audit)
    })
  }

  async list(deploymentId: string, page: PageRequest): Promise<Page<ListedBaseline>> {
    const { id } = reasonBaselines
    const baselines = this.db
      .select({ id, baseline: reasonBaselines, inForceId: reasonBaselinesInForce.baselineId })
      .from(reasonBaselines)
      .leftJoin(
        reasonBaselinesInForce,
        and(
          eq(reasonBaselinesInForce.deploymentId, reasonBaselines.deploymentId),
          eq(reasonBaselinesInForce.baselineId, reasonBaselines.id),
        ),
      )
    const found = await readPage(
      baselines,
      page,
      id,
      eq(reasonBaselines.deploymentId, deploymentId),
    )
    return mapPage(found, ({ baseline, inForceId }) => ({
      ...storedBaseline(baseline),
      isInForce: inForceId !== null,
    }))
  }

  async find(deploymentId: string, baselineId: string): Promise<StoredBaseline | null> {
    const [row] = await this.db
      .select()
      .from(reasonBaselines)
      .where(
        and(eq(reasonBaselines.id, baselineId), eq(reasonBaselines.deploymentId, deploymentId)),
      )
    return row === undefined ? null : storedBaseline(row)
  }

  /** Tells whether the baseline is one of this model of the team. */
  async isOfModel(teamId: string, modelId: string, baselineId: string): Promise<boolean> {
    const [row] = await this.db
      .select({ id: reasonBaselines.id })
      .from(reasonBaselines)
      .where(
        and(
          eq(reasonBaselines.id, baselineId),
          eq(reasonBaselines.modelId, modelId),
          eq(reasonBaselines.teamId, teamId),
        ),
      )
    return row !== undefined
  }

  /** The present cut-off of a deployment whose champion is this model; null without one. */
  async cutoff(deploymentId: string, championId: string): Promise<number | null> {
    const [row] = await this.db
      .select({ cutoff: deployments.cutoff })
      .from(deployments)
      .where(and(eq(deployments.id, deploymentId), eq(deployments.championModelId, championId)))
    return row?.cutoff ?? null
  }

  /** Returns what reasons need of a baseline. */
  baseline(baselineId: string): Promise<ReasonBaseline | null> {
    return readBaseline(this.db, baselineId)
  }
}

function storedBaseline({
  teamId: _teamId,
  startsAt,
  endsAt,
  means,
  createdAt,
  ...row
}: typeof reasonBaselines.$inferSelect): StoredBaseline {
  return {
    ...row,
    fromMs: startsAt?.getTime() ?? null,
    toMs: endsAt.getTime(),
    perFeature: means as StoredBaseline['perFeature'],
    createdAtMs: createdAt.getTime(),
  }
}
