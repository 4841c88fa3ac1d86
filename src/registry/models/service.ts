import { createHash } from 'node:crypto'
import {
  checkSteps,
  DEFAULT_SPEC_VERSION,
  type ScorecardSpec,
  type SpecIssue,
} from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import type { Environment, UserCaller } from '../../http/access/caller.ts'
import { type Actor, auditRecord } from '../../identity/audit/record.ts'
import type { Clock } from '../../platform/clock.ts'
import { isId, newId } from '../../platform/ids.ts'
import type { Page, PageRequest } from '../../platform/paging.ts'
import { runInTurns } from '../../platform/turn-taker.ts'
import { createdState, type NewDeployment } from '../deployments/deployment.ts'
import type {
  CountedSample,
  ImportedBaseline,
  Model,
  ModelFilter,
  ModelStatus,
  ModelStore,
  NewModel,
  StoredModel,
} from './store.ts'

export type { Model } from './store.ts'

/** A specification with the sample to compare it with, in the names of the API. */
export interface SampleCheckInput {
  readonly spec: ScorecardSpec
  readonly sample?: string
  readonly score_column?: string
  readonly tolerance?: number
  readonly check_id?: string
  readonly accept_unreached?: boolean
}

/** A sample whose scores are those of the specification. */
export interface CheckedSample {
  readonly certificate: object
  /** Becomes the baseline of the model. */
  readonly sample: CountedSample | null
  readonly warnings: readonly SpecIssue[]
}

/** Compares specifications with samples. */
export interface SampleChecker {
  /**
   * @returns what to store with the model, or null without a sample and a check
   * @throws AppError `invalid_spec` if the sample can't be read, `parity_failed` if a row differs,
   *   `unavailable` and `invalid_request` like an import; the latter for another `check_id`; the
   *   reason of an aborted signal
   */
  check(
    teamId: string,
    check: SampleCheckInput,
    signal?: AbortSignal,
  ): Promise<CheckedSample | null>
}

interface ModelOptions {
  readonly store: ModelStore
  readonly samples: SampleChecker
  readonly clock: Clock
  /**
   * Called with the id of each deployment that changed with a model, before the response is sent.
   */
  readonly onChange: (deploymentId: string) => void
}

interface DeployCommand {
  readonly spec: unknown
  readonly environment: Environment
  readonly description: string | null
  /** True if the model becomes the champion of a new deployment. */
  readonly autoDeploy: boolean
  /** Certificate of a checked import. */
  readonly parity?: object | null
  /** The counted sample of a checked import. */
  readonly sample?: CountedSample | null
  /** Sample to compare the spec with if there is no certificate. */
  readonly check?: Omit<SampleCheckInput, 'spec'>
  /** Ends the check of the spec and the sample, before anything is stored. */
  readonly signal?: AbortSignal
}

export interface Deployed {
  readonly model: NewModel
  readonly deployment: NewDeployment | null
  /** Valid but unusual parts of the spec that its author may want to review. */
  readonly warnings: readonly SpecIssue[]
}

/** Registered scorecards and their statuses. */
export class ModelService {
  private readonly options: ModelOptions

  constructor(options: ModelOptions) {
    this.options = options
  }

  /**
   * Registers a scorecard for the caller's team and, if requested, creates a deployment for it.
   *
   * @throws AppError `invalid_spec` with details for every fault of the spec; also see
   *   `SampleChecker`
   */
  async deploy(caller: UserCaller, input: DeployCommand): Promise<Deployed> {
    const check = await runInTurns(checkSteps(input.spec), input.signal)
    if (!check.ok) {
      const count = check.faultCount
      const message = `the scorecard specification has ${count} ${count === 1 ? 'fault' : 'faults'}`
      throw new AppError('invalid_spec', message, { details: check.faults })
    }
    const { spec } = check
    const checked =
      input.parity == null
        ? await this.options.samples.check(caller.teamId, { spec, ...input.check }, input.signal)
        : { certificate: input.parity, sample: input.sample ?? null, warnings: [] }
    const epochMs = this.options.clock.epochMs()
    const now = new Date(epochMs)
    const specText = JSON.stringify(spec)
    const model: NewModel = {
      id: newId('mod_', epochMs),
      teamId: caller.teamId,
      name: spec.name,
      version: spec.version,
      specVersion: spec.spec_version ?? DEFAULT_SPEC_VERSION,
      environment: input.environment,
      status: 'active',
      description: input.description,
      specText,
      specSha256: sha256(specText),
      parity: checked?.certificate ?? null,
      deployedBy: caller.userId,
      createdAt: now,
      updatedAt: now,
    }
    const deployment = input.autoDeploy ? makeFirstDeployment(model) : null
    const baseline = makeBaseline(model, checked?.sample ?? null)
    const { id, name, version, environment, description, specSha256, parity } = model
    const after = {
      name,
      version,
      environment,
      description,
      spec_sha256: specSha256,
      ...(parity && { parity }),
    }
    const audit = [auditRecord(caller, { action: 'model.deploy', subject: id, after }, epochMs)]
    if (deployment !== null) {
      const created = { name, environment, ...createdState(deployment) }
      const change = {
        action: 'deployment.create',
        subject: deployment.id,
        after: created,
      } as const
      audit.push(auditRecord(caller, change, epochMs))
    }
    await this.options.store.register(model, { deployment, baseline }, audit)
    // All processes load it before it is asked for.
    if (deployment !== null) this.options.onChange(deployment.id)
    return { model, deployment, warnings: [...check.warnings, ...(checked?.warnings ?? [])] }
  }

  list(teamId: string, filter: ModelFilter, page: PageRequest): Promise<Page<Model>> {
    return this.options.store.list(teamId, filter, page)
  }

  /** @throws AppError `model_not_found` */
  async get(teamId: string, modelId: string): Promise<StoredModel> {
    const found = isId(modelId, 'mod_') ? await this.options.store.find(teamId, modelId) : null
    if (found === null) throw modelNotFound()
    return found
  }

  /**
   * Returns the id of the team that owns a model. For the operator, who works for all teams.
   *
   * @throws AppError `model_not_found`
   */
  async findTeam(modelId: string): Promise<string> {
    const teamId = isId(modelId, 'mod_') ? await this.options.store.findTeam(modelId) : null
    if (teamId === null) throw modelNotFound()
    return teamId
  }

  /**
   * Archives or restores a model.
   *
   * @throws AppError `model_not_found`, `model_is_champion`, `approval_required`
   */
  async setStatus(actor: Actor, modelId: string, status: ModelStatus): Promise<Model> {
    if (!isId(modelId, 'mod_')) throw modelNotFound()
    const epochMs = this.options.clock.epochMs()
    const action = status === 'archived' ? 'model.archive' : 'model.restore'
    const changed = await this.options.store.setStatus({
      teamId: actor.teamId,
      modelId,
      status,
      at: new Date(epochMs),
      audit: (before, consequences) => {
        const after = { status, environment: before.environment, ...consequences }
        const change = {
          action,
          subject: modelId,
          before: { status: before.status },
          after,
        } as const
        return auditRecord(actor, change, epochMs)
      },
    })
    if (changed === null) throw modelNotFound()
    if (changed.isChampion) {
      throw new AppError(
        'model_is_champion',
        'the model is the champion of a deployment: promote another model there first',
      )
    }
    if ('guardedBy' in changed) {
      const message = `the model is a challenger of ${changed.guardedBy}, which requires approval: remove it there first`
      throw new AppError('approval_required', message)
    }
    for (const deploymentId of changed.touchedIds) this.options.onChange(deploymentId)
    return changed.model
  }
}

/** Hashes the text of a specification, in hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The same for a model that is absent and for one of another team. */
export function modelNotFound(): AppError {
  return new AppError('model_not_found', 'there is no model with this id')
}

/** The applicants of the sample that a model was checked with are its development sample. */
function makeBaseline(
  { id: modelId, teamId, deployedBy: createdBy, createdAt }: NewModel,
  sample: CountedSample | null,
): ImportedBaseline | null {
  if (sample === null) return null
  const id = newId('bsl_', createdAt.getTime())
  const { n, meanScore, counts } = sample
  return { id, teamId, modelId, origin: 'import', n, meanScore, counts, createdBy, createdAt }
}

/** The deployment that a new model gets for its own. */
export function makeFirstDeployment(
  model: Pick<NewModel, 'teamId' | 'name' | 'environment' | 'id' | 'createdAt'>,
): NewDeployment {
  return {
    id: newId('dep_', model.createdAt.getTime()),
    teamId: model.teamId,
    name: model.name,
    environment: model.environment,
    isActive: true,
    championModelId: model.id,
    shadowMode: false,
    strictMode: false,
    cacheVersion: 1,
    createdAt: model.createdAt,
    updatedAt: model.createdAt,
  }
}
