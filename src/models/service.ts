import { auditRecord, type NewAuditRecord } from '../audit/record.ts'
import type { Environment, UserCaller } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import type { NewDeployment } from '../deployments/deployment.ts'
import { checkSpec, DEFAULT_SPEC_VERSION, type SpecIssue } from '../engine/index.ts'
import { AppError } from '../errors.ts'
import { newId } from '../ids.ts'

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
  readonly deployedBy: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** What the service needs of the database. */
export interface ModelStore {
  /** Adds a model, its deployment if any, and their audit records in one transaction. */
  register(
    model: NewModel,
    deployment: NewDeployment | null,
    audit: readonly NewAuditRecord[],
  ): Promise<void>
}

export interface DeployOrder {
  readonly spec: unknown
  readonly environment: Environment
  readonly description: string | null
  /** Whether the model becomes the champion of a new deployment. */
  readonly autoDeploy: boolean
}

export interface Deployed {
  readonly model: NewModel
  readonly deployment: NewDeployment | null
  /** Legal oddities of the spec that its author may want to know. */
  readonly warnings: readonly SpecIssue[]
}

/** Scorecard models: registers what a modeler exported. */
export class ModelService {
  private readonly store: ModelStore
  private readonly clock: Clock

  constructor(store: ModelStore, clock: Clock) {
    this.store = store
    this.clock = clock
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
    const epochMs = this.clock.epochMs()
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
      deployedBy: caller.userId,
      createdAt: now,
      updatedAt: now,
    }
    const deployment = order.autoDeploy ? firstDeploymentOf(model) : null
    const { id, name, version, environment, description } = model
    const after = { name, version, environment, description }
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
    await this.store.register(model, deployment, audit)
    return { model, deployment, warnings: check.warnings }
  }
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
