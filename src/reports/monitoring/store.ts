import { and, desc, eq, lte, sql } from 'drizzle-orm'
import type { Environment } from '../../http/access/caller.ts'
import type { NewAuditRecord } from '../../identity/audit/record.ts'
import { insertAuditRecord, lockTeam } from '../../identity/audit/writer.ts'
import { DatabaseStore, momentText } from '../../platform/db/client.ts'
import { evaluateAnew } from '../../registry/deployments/stability-evaluations.ts'
import { challengers, deployments } from '../../tables/deployments.ts'
import { modelBaselines, models } from '../../tables/models.ts'
import type { Registration, StoredBaseline } from './baseline.ts'

export interface ModelFacts extends Registration {
  readonly environment: Environment
}

export interface MonitoredDeployment {
  readonly environment: Environment
  readonly championId: string
  /** Present cut-off of the lender; null without one. */
  readonly cutoff: number | null
}

export interface NewBaseline extends StoredBaseline {
  readonly teamId: string
  readonly origin: 'period' | 'counts'
}

/** Baselines of a model that are kept; the oldest leave. */
const BASELINES_KEPT = 100

/** The part of PostgreSQL that monitoring needs beside the log. */
export class MonitoringStore extends DatabaseStore {
  /** Null if the team has no such deployment. */
  async deployment(teamId: string, deploymentId: string): Promise<MonitoredDeployment | null> {
    const [row] = await this.db
      .select({
        environment: deployments.environment,
        championId: deployments.championModelId,
        cutoff: deployments.cutoff,
      })
      .from(deployments)
      .where(and(eq(deployments.teamId, teamId), eq(deployments.id, deploymentId)))
    // A check of the table allows only the two environments.
    return row === undefined ? null : { ...row, environment: row.environment as Environment }
  }

  /** Null if the team has no such model. */
  async modelFacts(teamId: string, modelId: string): Promise<ModelFacts | null> {
    const [row] = await this.db
      .select({
        createdBy: models.deployedBy,
        createdAt: models.createdAt,
        environment: models.environment,
      })
      .from(models)
      .where(and(eq(models.teamId, teamId), eq(models.id, modelId)))
    return row ?? null
  }

  /** The model of a challenger, active or not; null if the deployment has no such one. */
  async challengerModel(deploymentId: string, challengerId: string): Promise<string | null> {
    const [row] = await this.db
      .select({ modelId: challengers.modelId })
      .from(challengers)
      .where(and(eq(challengers.deploymentId, deploymentId), eq(challengers.id, challengerId)))
    return row?.modelId ?? null
  }

  /** The baseline that was stored last, up to a moment; null without one. */
  async baseline(modelId: string, untilMs = Infinity): Promise<StoredBaseline | null> {
    const [row] = await this.db
      .select()
      .from(modelBaselines)
      .where(
        and(
          eq(modelBaselines.modelId, modelId),
          sql`${modelBaselines.createdAt} <= ${momentText(untilMs)}`,
        ),
      )
      .orderBy(desc(modelBaselines.id))
      .limit(1)
    return row ?? null
  }

  /** AUC of the development sample; null without one. */
  async developmentAuc(modelId: string): Promise<number | null> {
    const [row] = await this.db
      .select({ auc: models.developmentAuc })
      .from(models)
      .where(eq(models.id, modelId))
    return row?.auc ?? null
  }

  async setDevelopmentAuc(
    modelId: string,
    auc: number | null,
    makeAudit: (before: number | null) => NewAuditRecord,
  ): Promise<void> {
    await this.db.transaction(async (tx) => {
      const [before] = await tx
        .select({ auc: models.developmentAuc })
        .from(models)
        .where(eq(models.id, modelId))
        .for('update')
      await tx.update(models).set({ developmentAuc: auc }).where(eq(models.id, modelId))
      await insertAuditRecord(tx, makeAudit(before?.auc ?? null))
    })
  }

  async addBaseline(baseline: NewBaseline, audit: NewAuditRecord): Promise<void> {
    await this.db.transaction(async (tx) => {
      // Before any alarm, as every change.
      await lockTeam(tx, baseline.teamId)
      await tx.insert(modelBaselines).values(baseline)
      const oldest = tx
        .select({ id: modelBaselines.id })
        .from(modelBaselines)
        .where(eq(modelBaselines.modelId, baseline.modelId))
        .orderBy(desc(modelBaselines.id))
        .limit(1)
        .offset(BASELINES_KEPT)
      await tx
        .delete(modelBaselines)
        .where(
          and(
            eq(modelBaselines.modelId, baseline.modelId),
            lte(modelBaselines.id, sql`(${oldest})`),
          ),
        )
      const [model] = await tx
        .select({ environment: models.environment })
        .from(models)
        .where(eq(models.id, baseline.modelId))
      const judged = await tx
        .select({ id: deployments.id })
        .from(deployments)
        .where(eq(deployments.championModelId, baseline.modelId))
      await evaluateAnew(
        tx,
        judged.map(({ id }) => id),
      )
      await insertAuditRecord(tx, { ...audit, after: { ...audit.after, ...model } })
    })
  }
}
