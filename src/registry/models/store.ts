import { and, desc, eq, sql } from 'drizzle-orm'
import { lockTeam } from '../audit/lock-team.ts'
import type { NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord } from '../audit/writer.ts'
import { archiveModel, guardedDeploymentOf, isChampion } from '../deployments/store.ts'
import type { Database, Transaction } from '../platform/db/client.ts'
import { type Page, type PageRequest, pageOf, rowsAfter, rowsToRead } from '../platform/paging.ts'
import { deployments } from '../tables/deployments.ts'
import { modelBaselines } from '../tables/model-baselines.ts'
import { models } from '../tables/models.ts'
import type {
  Model,
  ModelFilter,
  ModelStore,
  NewModel,
  StatusChange,
  StoredModel,
} from './service.ts'

const COLUMNS = {
  id: models.id,
  name: models.name,
  version: models.version,
  specVersion: models.specVersion,
  status: models.status,
  environment: models.environment,
  description: models.description,
  deployedBy: models.deployedBy,
  createdAt: models.createdAt,
  updatedAt: models.updatedAt,
}

/** Models in PostgreSQL. */
export class PostgresModelStore implements ModelStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async register(
    model: NewModel,
    { deployment, baseline }: Parameters<ModelStore['register']>[1],
    audit: readonly NewAuditRecord[],
  ): Promise<void> {
    await this.db.transaction(async (tx) => {
      await tx.insert(models).values(model)
      if (baseline !== null) await tx.insert(modelBaselines).values(baseline)
      if (deployment !== null) await tx.insert(deployments).values(deployment)
      for (const record of audit) await insertAuditRecord(tx, record)
    })
  }

  async list(
    teamId: string,
    { environment, status }: ModelFilter,
    page: PageRequest,
  ): Promise<Page<Model>> {
    const rows = await this.db
      .select(COLUMNS)
      .from(models)
      .where(
        and(
          eq(models.teamId, teamId),
          environment && eq(models.environment, environment),
          status && eq(models.status, status),
          rowsAfter(page, models.id),
        ),
      )
      .orderBy(desc(models.id))
      .limit(rowsToRead(page))
    return pageOf(rows, page)
  }

  async find(teamId: string, modelId: string): Promise<StoredModel | null> {
    const [row] = await this.db
      // Reads JSON as text, because a driver would parse it with JSON.parse; see `parseJson`.
      .select({
        ...COLUMNS,
        specText: sql<string>`${models.spec}::text`,
        parityText: sql<string | null>`${models.parity}::text`,
      })
      .from(models)
      .where(and(eq(models.id, modelId), eq(models.teamId, teamId)))
    if (row === undefined) return null
    const { specText, parityText, ...model } = row
    return { model, specText, parityText }
  }

  async teamOf(modelId: string): Promise<string | null> {
    const [row] = await this.db
      .select({ teamId: models.teamId })
      .from(models)
      .where(eq(models.id, modelId))
    return row?.teamId ?? null
  }

  setStatus({
    teamId,
    modelId,
    status,
    at,
    audit,
  }: Parameters<ModelStore['setStatus']>[0]): Promise<StatusChange | null> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const before = await readModel(tx, teamId, modelId)
      if (before === null) return null
      if (before.status === status) return { isChampion: false, model: before, touchedIds: [] }
      if (status === 'archived' && (await isChampion(tx, modelId))) return { isChampion: true }
      const guardedBy = status === 'archived' ? await guardedDeploymentOf(tx, modelId) : null
      if (guardedBy !== null) return { isChampion: false, guardedBy }
      const { ended, states } =
        status === 'archived' ? await archiveModel(tx, modelId, at) : { ended: [], states: [] }
      if (status === 'active') {
        await tx.update(models).set({ status, updatedAt: at }).where(eq(models.id, modelId))
      }
      const consequences = ended.length > 0 ? { challengers_ended: ended } : {}
      await insertAuditRecord(tx, { ...audit(before, consequences), consequences: states })
      const model = { ...before, status, updatedAt: at }
      return {
        isChampion: false,
        model,
        touchedIds: ended.map(({ deployment_id }) => deployment_id),
      }
    })
  }
}

/** @returns null if the team has no such model */
export async function readModel(
  tx: Transaction,
  teamId: string,
  modelId: string,
): Promise<Model | null> {
  const [row] = await tx
    .select(COLUMNS)
    .from(models)
    .where(and(eq(models.id, modelId), eq(models.teamId, teamId)))
  return row ?? null
}
