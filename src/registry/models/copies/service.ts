import { AppError } from '../../../errors.ts'
import type { Environment, UserCaller } from '../../../http/access/caller.ts'
import { auditRecord } from '../../../identity/audit/record.ts'
import type { Clock } from '../../../platform/clock.ts'
import { isId, newId } from '../../../platform/ids.ts'
import { createdState } from '../../deployments/deployment.ts'
import { type Deployed, makeFirstDeployment, modelNotFound } from '../service.ts'
import type { HashedModel, ModelCopy, ModelCopyStore } from './store.ts'

interface CopyOrder {
  readonly environment: Environment
  /** Undefined: that of the source. */
  readonly description: string | null | undefined
  /** True if the copy becomes the champion of a new deployment. */
  readonly autoDeploy: boolean
}

type Copied = Omit<Deployed, 'model'> & { readonly model: ModelCopy['model'] }

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
          this.makeCopy(caller, model, order),
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

  private makeCopy(caller: UserCaller, source: HashedModel, order: CopyOrder): ModelCopy {
    const { environment, autoDeploy } = order
    if (source.environment === environment) {
      const message = `the model is in ${environment} already: name the other environment`
      const details = [{ path: 'environment', message }]
      throw new AppError('invalid_request', message, { details })
    }
    const epochMs = this.clock.epochMs()
    const at = new Date(epochMs)
    const description = order.description === undefined ? source.description : order.description
    const { name, version, specVersion, specSha256 } = source
    const model = {
      id: newId('mod_', epochMs),
      teamId: caller.teamId,
      name,
      version,
      specVersion,
      specSha256,
      environment,
      description,
      deployedBy: caller.userId,
      createdAt: at,
      updatedAt: at,
    }
    const deployment = autoDeploy ? makeFirstDeployment(model) : null
    const after = {
      name,
      version,
      environment,
      description,
      spec_sha256: specSha256,
      copied_from: source.id,
    }
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
