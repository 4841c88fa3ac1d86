import type { Environment, UserCaller } from '../../access/caller.ts'
import { auditRecord, type NewAuditRecord } from '../../audit/record.ts'
import { createdState, type NewDeployment } from '../../deployments/deployment.ts'
import { AppError } from '../../errors.ts'
import type { Clock } from '../../platform/clock.ts'
import { isId, newId } from '../../platform/ids/ids.ts'
import { type Deployed, firstDeploymentOf, type Model, modelNotFound } from '../service.ts'

/** A copy that is about to be stored; its spec and certificate are those of the source. */
export interface ModelCopy {
  readonly model: Omit<Model, 'status'> & { readonly teamId: string }
  readonly deployment: NewDeployment | null
  readonly audit: readonly NewAuditRecord[]
}

/** A model to copy, with the ids of those that the copy is easily mistaken for. */
export interface CopySource {
  readonly model: Model
  /** Models of the target environment with the same name and version, newest first. */
  readonly namesakes: readonly string[]
}

/** What the service needs from the database. */
export interface ModelCopyStore {
  /**
   * Stores the copy that `decide` makes of a model, with its audit records, in one transaction.
   * Spec and certificate are copied byte for byte.
   *
   * @param decide an error changes nothing
   * @returns what was copied, or null if the team has no such model
   */
  copy(
    order: {
      readonly teamId: string
      readonly modelId: string
      readonly environment: Environment
    },
    decide: (source: CopySource) => ModelCopy,
  ): Promise<{ source: CopySource; copy: ModelCopy } | null>
}

interface CopyOrder {
  readonly environment: Environment
  /** Undefined: that of the source. */
  readonly description: string | null | undefined
  /** Whether the copy becomes the champion of a new deployment. */
  readonly autoDeploy: boolean
}

/** What a copy answers. */
export type Copied = Omit<Deployed, 'model'> & { readonly model: ModelCopy['model'] }

/** Copies models from one environment to the other. */
export class ModelCopyService {
  private readonly store: ModelCopyStore
  private readonly clock: Clock

  constructor(store: ModelCopyStore, clock: Clock) {
    this.store = store
    this.clock = clock
  }

  /**
   * Registers a model once more, for the other environment, with its certificate.
   *
   * @returns with a warning for each model that has its name and version there already
   * @throws AppError `model_not_found`; `invalid_request` for the environment that the model has
   */
  async copy(caller: UserCaller, modelId: string, order: CopyOrder): Promise<Copied> {
    const { environment } = order
    const { teamId } = caller
    const copied = isId(modelId, 'mod_')
      ? await this.store.copy({ teamId, modelId, environment }, ({ model }) =>
          this.copyOf(caller, model, order),
        )
      : null
    if (copied === null) throw modelNotFound()
    const { source, copy } = copied
    const warnings = source.namesakes.map((id) => ({
      path: 'version',
      message: `the model ${id} has this name and version in ${environment} already`,
    }))
    return { model: copy.model, deployment: copy.deployment, warnings }
  }

  private copyOf(caller: UserCaller, source: Model, order: CopyOrder): ModelCopy {
    const { environment, autoDeploy } = order
    if (source.environment === environment) {
      const message = `the model is in ${environment} already: name the other environment`
      const details = [{ path: 'environment', message }]
      throw new AppError('invalid_request', message, { details })
    }
    const epochMs = this.clock.epochMs()
    const at = new Date(epochMs)
    const description = order.description === undefined ? source.description : order.description
    const { name, version, specVersion } = source
    const model = {
      id: newId('mod_', epochMs),
      teamId: caller.teamId,
      name,
      version,
      specVersion,
      environment,
      description,
      deployedBy: caller.userId,
      createdAt: at,
      updatedAt: at,
    }
    const deployment = autoDeploy ? firstDeploymentOf(model) : null
    const after = { name, version, environment, description, copied_from: source.id }
    const audit = [auditRecord(caller, { action: 'model.copy', subject: model.id, after }, epochMs)]
    if (deployment !== null) {
      const created = { name, environment, ...createdState(deployment) }
      const subject = deployment.id
      const change = { action: 'deployment.create', subject, after: created } as const
      audit.push(auditRecord(caller, change, epochMs))
    }
    return { model, deployment, audit }
  }
}
