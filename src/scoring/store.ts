import { eq, sql } from 'drizzle-orm'
import type { Environment } from '../auth/caller.ts'
import type { Database } from '../db/client.ts'
import { deployments } from '../db/tables/deployments.ts'
import { models } from '../db/tables/models.ts'
import { parseJson } from '../json.ts'
import type { DeploymentState, ServingStore } from './cache.ts'

/** What scoring reads of deployments and models, from PostgreSQL. */
export class PostgresServingStore implements ServingStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async deploymentState(deploymentId: string): Promise<DeploymentState | null> {
    const [row] = await this.db
      .select({
        deploymentId: deployments.id,
        teamId: deployments.teamId,
        environment: deployments.environment,
        isActive: deployments.isActive,
        cacheVersion: deployments.cacheVersion,
        championModelId: deployments.championModelId,
      })
      .from(deployments)
      .where(eq(deployments.id, deploymentId))
    // The table's check holds the environment to the two there are.
    return row === undefined ? null : { ...row, environment: row.environment as Environment }
  }

  async specOf(modelId: string): Promise<unknown> {
    const [row] = await this.db
      // As text: a driver would read it with JSON.parse, see `parseJson`.
      .select({ text: sql<string>`${models.spec}::text` })
      .from(models)
      .where(eq(models.id, modelId))
    return row === undefined ? null : parseJson(row.text)
  }
}
