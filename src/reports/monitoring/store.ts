import { and, desc, eq, lte, sql } from 'drizzle-orm'
import type { Environment } from '../access/caller.ts'
import { lockTeam } from '../audit/lock-team.ts'
import type { NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord } from '../audit/writer.ts'
import { evaluateAnew } from '../deployments/stability-evaluations.ts'
import type { Database } from '../platform/db/client.ts'
import { challengers, deployments } from '../tables/deployments.ts'
import { modelBaselines } from '../tables/model-baselines.ts'
import { models } from '../tables/models.ts'
import type { StoredBaseline } from './baseline.ts'
import type { ModelFacts, MonitoredDeployment, MonitoringStore, NewBaseline } from './monitored.ts'

/** Baselines of a model that are kept; the oldest leave. */
const BASELINES_KEPT = 100

/** What monitoring needs of PostgreSQL beside the log. */
export class PostgresMonitoringStore implements MonitoringStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async deployment(teamId: string, deploymentId: string): Promise<MonitoredDeployment | null> {
    const [row] = await this.db
      .select({ environment: deployments.environment, championId: deployments.championModelId })
      .from(deployments)
      .where(and(eq(deployments.teamId, teamId), eq(deployments.id, deploymentId)))
    // A check of the table allows only the two environments.
    return row === undefined ? null : { ...row, environment: row.environment as Environment }
  }

  async modelFacts(teamId: string, modelId: string): Promise<ModelFacts | null> {
    const [row] = await this.db
      .select({ createdAt: models.createdAt, environment: models.environment })
      .from(models)
      .where(and(eq(models.teamId, teamId), eq(models.id, modelId)))
    return row ?? null
  }

  async challengerModel(deploymentId: string, challengerId: string): Promise<string | null> {
    const [row] = await this.db
      .select({ modelId: challengers.modelId })
      .from(challengers)
      .where(and(eq(challengers.deploymentId, deploymentId), eq(challengers.id, challengerId)))
    return row?.modelId ?? null
  }

  async baseline(modelId: string): Promise<StoredBaseline | null> {
    const [row] = await this.db
      .select()
      .from(modelBaselines)
      .where(eq(modelBaselines.modelId, modelId))
      .orderBy(desc(modelBaselines.id))
      .limit(1)
    return row ?? null
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
