import { and, asc, eq, sql } from 'drizzle-orm'
import type { Environment } from '../auth/caller.ts'
import type { Database } from '../db/client.ts'
import { challengers, deployments } from '../db/tables/deployments.ts'
import { models } from '../db/tables/models.ts'
import { parseJson } from '../json.ts'
import type { DeploymentState, ServingStore } from './cache.ts'

const deploymentStates = (db: Database) =>
  db
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
    .where(eq(deployments.id, sql.placeholder('deploymentId')))
    .orderBy(asc(challengers.id))
    .prepare('serving_deployment')

/** As text: a driver would read it with JSON.parse, see `parseJson`. */
const specTexts = (db: Database) =>
  db
    .select({ text: sql<string>`${models.spec}::text` })
    .from(models)
    .where(eq(models.id, sql.placeholder('modelId')))
    .prepare('serving_spec')

/**
 * What scoring reads of deployments and models, from PostgreSQL. The statements are prepared: making the text
 * of one takes longer than all else, and thousands of deployments are looked at again every half minute.
 */
export class PostgresServingStore implements ServingStore {
  private readonly states: ReturnType<typeof deploymentStates>
  private readonly specs: ReturnType<typeof specTexts>

  constructor(db: Database) {
    this.states = deploymentStates(db)
    this.specs = specTexts(db)
  }

  /** One statement, so that all it answers is of one moment. */
  async deploymentState(deploymentId: string): Promise<DeploymentState | null> {
    const rows = await this.states.execute({ deploymentId })
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
    const [row] = await this.specs.execute({ modelId })
    return row === undefined ? null : parseJson(row.text)
  }
}
