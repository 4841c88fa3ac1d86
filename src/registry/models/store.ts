import { setImmediate } from 'node:timers/promises'
import { and, eq, sql } from 'drizzle-orm'
import pLimit from 'p-limit'
import type { BaselineCounts } from '../../../schemas/baselines.ts'
import type { Environment } from '../../http/access/caller.ts'
import type { NewAuditRecord } from '../../identity/audit/record.ts'
import { insertAuditRecord, lockTeam } from '../../identity/audit/writer.ts'
import { askedRow } from '../../platform/db/asked-rows.ts'
import { DatabaseStore, type Transaction } from '../../platform/db/client.ts'
import { type Page, type PageRequest, readPage } from '../../platform/paging.ts'
import { takeTurn } from '../../platform/turn-taker.ts'
import { deployments } from '../../tables/deployments.ts'
import { modelBaselines, models } from '../../tables/models.ts'
import type { NewDeployment } from '../deployments/deployment.ts'
import { archiveModel, findGuardedDeployment, isChampion } from '../deployments/model-status.ts'

/** A development sample that was counted by bin and score band. */
export interface CountedSample {
  readonly n: number
  readonly meanScore: number | null
  readonly counts: BaselineCounts
}

/** The baseline that a new model gets from the sample that it was checked with. */
export interface ImportedBaseline extends CountedSample {
  readonly id: string
  readonly teamId: string
  readonly modelId: string
  readonly origin: 'import'
  readonly createdBy: string
  readonly createdAt: Date
}

/** A registered model without its spec, which can be large. */
export interface Model {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly specVersion: string
  readonly status: ModelStatus
  readonly environment: Environment
  readonly description: string | null
  readonly deployedBy: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface ModelFilter {
  readonly environment?: Environment | undefined
  readonly status?: ModelStatus | undefined
}

export type ModelStatus = 'active' | 'archived'

export interface NewModel {
  readonly id: string
  readonly teamId: string
  readonly name: string
  readonly version: string
  readonly specVersion: string
  readonly environment: Environment
  readonly status: 'active'
  readonly description: string | null
  /**
   * The specification, with unknown properties, in the order in which they were sent. It is without
   * white space, and its numbers are in their shortest form.
   */
  readonly specText: string
  /** Over this text. */
  readonly specSha256: string
  /** Certificate that it gives the same scores as the tool it comes from, or null. */
  readonly parity: object | null
  readonly deployedBy: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

export type StatusChange =
  | { readonly isChampion: true }
  | { readonly isChampion: false; readonly guardedBy: string }
  | {
      readonly isChampion: false
      readonly model: Model
      /** Ids of the deployments in which it was a challenger. */
      readonly touchedIds: readonly string[]
    }

/** A model with its stored JSON documents as text. */
export interface StoredModel {
  readonly model: Model
  readonly specText: string
  readonly parityText: string | null
}

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
export class ModelStore extends DatabaseStore {
  /** A large card takes memory and some milliseconds: many at once would hold up scores. */
  private readonly reading = pLimit(2)

  /** Adds a model, what belongs to it, and their audit records in one transaction. */
  async register(
    model: NewModel,
    {
      deployment,
      baseline,
    }: {
      readonly deployment: NewDeployment | null
      readonly baseline: ImportedBaseline | null
    },
    audit: readonly NewAuditRecord[],
  ): Promise<void> {
    await this.db.transaction(async (tx) => {
      await tx.insert(models).values({ ...model, spec: sql`${model.specText}::json` })
      if (baseline !== null) await tx.insert(modelBaselines).values(baseline)
      if (deployment !== null) await tx.insert(deployments).values(deployment)
      for (const record of audit) await insertAuditRecord(tx, record)
    })
  }

  list(
    teamId: string,
    { environment, status }: ModelFilter,
    page: PageRequest,
  ): Promise<Page<Model>> {
    return readPage(
      this.db.select(COLUMNS).from(models),
      page,
      models.id,
      eq(models.teamId, teamId),
      environment && eq(models.environment, environment),
      status && eq(models.status, status),
    )
  }

  find(teamId: string, modelId: string): Promise<StoredModel | null> {
    return this.reading(() => this.read(teamId, modelId))
  }

  private async read(teamId: string, modelId: string): Promise<StoredModel | null> {
    const rows = await this.db
      // Reads JSON as text, because a driver would parse it with JSON.parse; see `parseJson`.
      .select({
        ...COLUMNS,
        specText: sql<string>`${models.spec}::text`,
        parityText: sql<string | null>`${models.parity}::text`,
      })
      .from(models)
      .where(and(eq(models.id, modelId), eq(models.teamId, teamId)))
    const row = askedRow(rows, ({ id }) => id === modelId)
    if (row === null) return null
    // To hash a large card and to write its answer takes some milliseconds, as reading it did.
    await setImmediate()
    await takeTurn()
    const { specText, parityText, ...model } = row
    return { model, specText, parityText }
  }

  /** Id of the team that owns the model, or null. */
  async findTeam(modelId: string): Promise<string | null> {
    const [row] = await this.db
      .select({ teamId: models.teamId })
      .from(models)
      .where(eq(models.id, modelId))
    return row?.teamId ?? null
  }

  /**
   * Sets a model's status in one transaction with its audit record. Archiving also ends the model's
   * challenger entries. No other change in the team overlaps it.
   *
   * @param command.audit describes the change from the old state and the ended entries
   * @returns null if the model does not exist; `isChampion` if it therefore can't be archived;
   *   `guardedBy` if it is a challenger of this deployment, which requires approval
   */
  setStatus({
    teamId,
    modelId,
    status,
    at,
    audit,
  }: {
    readonly teamId: string
    readonly modelId: string
    readonly status: ModelStatus
    readonly at: Date
    readonly audit: (before: Model, consequences: object) => NewAuditRecord
  }): Promise<StatusChange | null> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const before = await readModel(tx, teamId, modelId)
      if (before === null) return null
      if (before.status === status) return { isChampion: false, model: before, touchedIds: [] }
      if (status === 'archived' && (await isChampion(tx, modelId))) return { isChampion: true }
      const guardedBy = status === 'archived' ? await findGuardedDeployment(tx, modelId) : null
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
  const rows = await tx
    .select(COLUMNS)
    .from(models)
    .where(and(eq(models.id, modelId), eq(models.teamId, teamId)))
  return askedRow(rows, ({ id }) => id === modelId)
}
