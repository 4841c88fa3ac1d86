import { type Actor, auditRecord, type NewAuditRecord } from '../audit/record.ts'
import type { Environment, UserCaller } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import type { NewDeployment } from '../deployments/deployment.ts'
import { checkSpec, DEFAULT_SPEC_VERSION, type SpecIssue } from '../engine/index.ts'
import { AppError } from '../errors.ts'
import { isId, newId } from '../ids.ts'
import type { Page, PageRequest } from '../paging.ts'

export interface NewModel {
  readonly id: string
  readonly teamId: string
  readonly name: string
  readonly version: string
  readonly specVersion: string
  readonly environment: Environment
  readonly status: 'active'
  readonly description: string | null
  /** As it was sent, properties unknown to the service included. */
  readonly spec: object
  /** Proof that it scores as the tool that it was imported from; null where there is none. */
  readonly parity: object | null
  readonly deployedBy: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

export type ModelStatus = 'active' | 'archived'

/** A registered model; its spec apart, because it can be large. */
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

/** A model with its documents, as the texts that are stored. */
export interface StoredModel {
  readonly model: Model
  readonly specText: string
  readonly parityText: string | null
}

export interface ModelFilter {
  readonly environment?: Environment | undefined
  readonly status?: ModelStatus | undefined
}

/** What the service needs of the database. */
export interface ModelStore {
  list(teamId: string, filter: ModelFilter, page: PageRequest): Promise<Page<Model>>
  find(teamId: string, modelId: string): Promise<StoredModel | null>
  /** Whose a model is, or null. */
  teamOf(modelId: string): Promise<string | null>
  /**
   * Sets a model's status in one transaction with its audit record and, where it is archived, with
   * the end of its entries as a challenger. No other change in the team overlaps it.
   *
   * @param audit of the model as it was, and of the entries that ended
   * @returns null when there is no such model; `isChampion` when that keeps it from being archived
   */
  setStatus(order: {
    readonly teamId: string
    readonly modelId: string
    readonly status: ModelStatus
    readonly at: Date
    readonly audit: (before: Model, consequences: object) => NewAuditRecord
  }): Promise<StatusChange | null>
  /** Adds a model, its deployment if any, and their audit records in one transaction. */
  register(
    model: NewModel,
    deployment: NewDeployment | null,
    audit: readonly NewAuditRecord[],
  ): Promise<void>
}

export type StatusChange =
  | { readonly isChampion: true }
  | {
      readonly isChampion: false
      readonly model: Model
      /** Deployments that it was a challenger of. */
      readonly touchedIds: readonly string[]
    }

export interface ModelOptions {
  readonly store: ModelStore
  readonly clock: Clock
  /** Told of each deployment that changed with a model, before the change is answered. */
  readonly onChange: (deploymentId: string) => void
}

export interface DeployOrder {
  readonly spec: unknown
  readonly environment: Environment
  readonly description: string | null
  /** Whether the model becomes the champion of a new deployment. */
  readonly autoDeploy: boolean
  /** Of an import that was checked. */
  readonly parity?: object | null
}

export interface Deployed {
  readonly model: NewModel
  readonly deployment: NewDeployment | null
  /** Legal oddities of the spec that its author may want to know. */
  readonly warnings: readonly SpecIssue[]
}

/** Scorecard models: what modelers exported, and whether it may be used. */
export class ModelService {
  private readonly options: ModelOptions

  constructor(options: ModelOptions) {
    this.options = options
  }

  /**
   * Registers a scorecard for the team of the caller and, if wanted, puts it behind a deployment.
   *
   * @throws AppError `invalid_spec` whose details list every fault of the spec
   */
  async deploy(caller: UserCaller, order: DeployOrder): Promise<Deployed> {
    const check = checkSpec(order.spec)
    if (!check.ok) {
      const count = check.faultCount
      const message = `the scorecard specification has ${count} ${count === 1 ? 'fault' : 'faults'}`
      throw new AppError('invalid_spec', message, { details: check.faults })
    }
    const epochMs = this.options.clock.epochMs()
    const now = new Date(epochMs)
    const { spec } = check
    const model: NewModel = {
      id: newId('mod_', epochMs),
      teamId: caller.teamId,
      name: spec.name,
      version: spec.version,
      specVersion: spec.spec_version ?? DEFAULT_SPEC_VERSION,
      environment: order.environment,
      status: 'active',
      description: order.description,
      spec,
      parity: order.parity ?? null,
      deployedBy: caller.userId,
      createdAt: now,
      updatedAt: now,
    }
    const deployment = order.autoDeploy ? firstDeploymentOf(model) : null
    const { id, name, version, environment, description, parity } = model
    const after = { name, version, environment, description, ...(parity && { parity }) }
    const audit = [auditRecord(caller, { action: 'model.deploy', subject: id, after }, epochMs)]
    if (deployment !== null) {
      const created = { name, environment, champion_model_id: id, is_active: true }
      const change = {
        action: 'deployment.create',
        subject: deployment.id,
        after: created,
      } as const
      audit.push(auditRecord(caller, change, epochMs))
    }
    await this.options.store.register(model, deployment, audit)
    return { model, deployment, warnings: check.warnings }
  }

  list(teamId: string, filter: ModelFilter, page: PageRequest): Promise<Page<Model>> {
    return this.options.store.list(teamId, filter, page)
  }

  /** @throws AppError `model_not_found` */
  async get(teamId: string, modelId: string): Promise<StoredModel> {
    const found = isId(modelId, 'mod_') ? await this.options.store.find(teamId, modelId) : null
    if (found === null) throw notFound()
    return found
  }

  /**
   * Whose a model is, for the operator, who works for all teams.
   *
   * @throws AppError `model_not_found`
   */
  async teamOf(modelId: string): Promise<string> {
    const teamId = isId(modelId, 'mod_') ? await this.options.store.teamOf(modelId) : null
    if (teamId === null) throw notFound()
    return teamId
  }

  /**
   * Archives a model, or takes it back into use.
   *
   * @throws AppError `model_not_found`, `model_is_champion`
   */
  async setStatus(actor: Actor, modelId: string, status: ModelStatus): Promise<Model> {
    if (!isId(modelId, 'mod_')) throw notFound()
    const epochMs = this.options.clock.epochMs()
    const action = status === 'archived' ? 'model.archive' : 'model.restore'
    const changed = await this.options.store.setStatus({
      teamId: actor.teamId,
      modelId,
      status,
      at: new Date(epochMs),
      audit: (before, consequences) => {
        const after = { status, ...consequences }
        const change = {
          action,
          subject: modelId,
          before: { status: before.status },
          after,
        } as const
        return auditRecord(actor, change, epochMs)
      },
    })
    if (changed === null) throw notFound()
    if (changed.isChampion) {
      throw new AppError(
        'model_is_champion',
        'the model is the champion of a deployment: promote another one there first',
      )
    }
    for (const deploymentId of changed.touchedIds) this.options.onChange(deploymentId)
    return changed.model
  }
}

function notFound(): AppError {
  return new AppError('model_not_found', 'there is no model with this id')
}

function firstDeploymentOf(model: NewModel): NewDeployment {
  return {
    id: newId('dep_', model.createdAt.getTime()),
    teamId: model.teamId,
    name: model.name,
    environment: model.environment,
    isActive: true,
    championModelId: model.id,
    shadowMode: false,
    cacheVersion: 1,
    createdAt: model.createdAt,
    updatedAt: model.createdAt,
  }
}
