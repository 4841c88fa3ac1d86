import { and, asc, eq, sql } from 'drizzle-orm'
import type { Environment } from '../auth/caller.ts'
import type { Database } from '../db/client.ts'
import { challengers, deployments } from '../db/tables/deployments.ts'
import { models } from '../db/tables/models.ts'
import { parseJson } from '../json.ts'
import type { DeploymentState, ServingStore } from './cache.ts'

/** What scoring reads of deployments and models, from PostgreSQL. */
export class PostgresServingStore implements ServingStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  /** One statement, so that all it answers is of one moment. */
  async deploymentState(deploymentId: string): Promise<DeploymentState | null> {
    const rows = await this.db
      .select({
        deploymentId: deployments.id,
        teamId: deployments.teamId,
        environment: deployments.environment,
        isActive: deployments.isActive,
        shadowMode: deployments.shadowMode,
        cacheVersion: deployments.cacheVersion,
        championModelId: deployments.championModelId,
        challenger: {
          challengerId: challengers.id,
          modelId: challengers.modelId,
          bucketRanges: challengers.bucketRanges,
        },
      })
      .from(deployments)
      .leftJoin(
        challengers,
        and(eq(challengers.deploymentId, deployments.id), eq(challengers.isActive, true)),
      )
      .where(eq(deployments.id, deploymentId))
      .orderBy(asc(challengers.id))
    const [first] = rows
    if (first === undefined) return null
    return {
      ...first,
      // The table's check holds the environment to the two there are.
      environment: first.environment as Environment,
      challengers: rows.flatMap(({ challenger }) => challenger ?? []),
    }
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
