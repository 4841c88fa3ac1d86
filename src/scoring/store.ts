import { and, asc, eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { askedRow } from '../platform/db/asked-rows.ts'
import { type Database, DatabaseStore, queryRows } from '../platform/db/client.ts'
import { runInTurns } from '../platform/turn-taker.ts'
import { challengers, deployments } from '../tables/deployments.ts'
import { models } from '../tables/models.ts'
import { reasonBaselines, reasonBaselinesInForce } from '../tables/reasons.ts'
import { type StoredSpec, storedSpecSteps } from './make-serving.ts'
import type { ServingStore } from './model-cache.ts'
import type { ReasonBaseline } from './reason-baseline.ts'
import type { DeploymentState } from './serving.ts'

const championBaseline = alias(reasonBaselinesInForce, 'champion_baseline')
const challengerBaseline = alias(reasonBaselinesInForce, 'challenger_baseline')

const deploymentStates = (db: Database) =>
  db
    .select({
      deploymentId: deployments.id,
      teamId: deployments.teamId,
      environment: deployments.environment,
      isActive: deployments.isActive,
      shadowMode: deployments.shadowMode,
      strictMode: deployments.strictMode,
      cacheVersion: deployments.cacheVersion,
      championModelId: deployments.championModelId,
      baselineId: championBaseline.baselineId,
      challengerBaselineId: challengerBaseline.baselineId,
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
    .leftJoin(
      championBaseline,
      and(
        eq(championBaseline.deploymentId, deployments.id),
        eq(championBaseline.modelId, deployments.championModelId),
      ),
    )
    .leftJoin(
      challengerBaseline,
      and(
        eq(challengerBaseline.deploymentId, deployments.id),
        eq(challengerBaseline.modelId, challengers.modelId),
      ),
    )
    .where(eq(deployments.id, sql.placeholder('deploymentId')))
    .orderBy(asc(challengers.id))
    .prepare('serving_deployment')

/** As text: a driver would read it with JSON.parse, see `parseStoredJson`. */
const specTexts = (db: Database) =>
  db
    .select({ id: models.id, text: sql<string>`${models.spec}::text` })
    .from(models)
    .where(eq(models.id, sql.placeholder('modelId')))
    .prepare('serving_spec')

/**
 * Deployments and models as scoring reads them, from PostgreSQL. The texts of the statements are
 * made once: that takes longer than all else, and thousands of deployments are looked at again
 * every half minute. The database does not see their names.
 */
export class PostgresServingStore implements ServingStore {
  private readonly states: ReturnType<typeof deploymentStates>
  private readonly specs: ReturnType<typeof specTexts>
  private readonly db: Database

  constructor(db: Database) {
    this.states = deploymentStates(db)
    this.specs = specTexts(db)
    this.db = db
  }

  /** One statement, so that all it answers is of one moment. */
  async deploymentState(deploymentId: string): Promise<DeploymentState | null> {
    const rows = await this.states.execute({ deploymentId })
    const first = askedRow(rows, (row) => row.deploymentId === deploymentId)
    if (first === null) return null
    const { challenger: _challenger, challengerBaselineId: _baseline, ...state } = first
    return {
      ...state,
      challengers: rows.flatMap(({ challenger, challengerBaselineId: baselineId }) =>
        challenger === null ? [] : { ...challenger, baselineId },
      ),
    }
  }

  async readSpec(modelId: string): Promise<StoredSpec | null> {
    const text = await this.readSpecText(modelId)
    return text === null ? null : runInTurns(storedSpecSteps(text))
  }

  /** The text in which the spec of a model is stored, or null when there is no such model. */
  async readSpecText(modelId: string): Promise<string | null> {
    const row = askedRow(await this.specs.execute({ modelId }), ({ id }) => id === modelId)
    return row?.text ?? null
  }

  baseline(baselineId: string): Promise<ReasonBaseline | null> {
    return readBaseline(this.db, baselineId)
  }
}

/** Reads what reasons need of a baseline. */
export async function readBaseline(
  db: Database,
  baselineId: string,
): Promise<ReasonBaseline | null> {
  const rows = await db.select().from(reasonBaselines).where(eq(reasonBaselines.id, baselineId))
  const row = askedRow(rows, (one) => one.id === baselineId)
  if (row === null) return null
  const { id, method, cutoff, n, startsAt, endsAt, means } = row
  return {
    baselineId: id,
    method,
    cutoff,
    n,
    fromMs: startsAt?.getTime() ?? null,
    toMs: endsAt.getTime(),
    means: means as ReasonBaseline['means'],
  }
}

/** Active deployments, those with the newest scores first. */
export class DeploymentsInUseStore extends DatabaseStore {
  async list(idsMax: number): Promise<string[]> {
    const rows = await queryRows<{ id: string }>(
      this.db,
      sql`select id from deployments
        left join lateral (
          select starts_at from score_rollups
          where deployment_id = deployments.id and span = 'day'
          order by starts_at desc limit 1) as latest on true
        where is_active
        order by coalesce(latest.starts_at, deployments.updated_at) desc, id
        limit ${idsMax}::integer`,
    )
    return rows.map(({ id }) => id)
  }
}
