import { AppError, deploymentNotFound } from '../../errors.ts'
import type { Caller, Environment } from '../../http/access/caller.ts'
import type { StoredModel, StoredModels } from '../../log/index.ts'
import { isId } from '../../platform/ids.ts'
import { type Baseline, type Registration, readBaseline, specBaseline } from './baseline.ts'
import type { Card } from './cell-layout.ts'
import { type Direction, findDirection } from './pd-group.ts'
import type { MonitoredDeployment, MonitoringStore } from './store.ts'

/** A model with its development sample. */
export interface MonitoredModel {
  readonly stored: StoredModel
  readonly card: Card
  readonly registered: Registration
}

interface MonitoredOptions {
  readonly store: MonitoringStore
  readonly models: StoredModels
}

/** Deployments and models as all questions of monitoring see them. */
export class Monitored {
  private readonly options: MonitoredOptions

  constructor(options: MonitoredOptions) {
    this.options = options
  }

  get store(): MonitoringStore {
    return this.options.store
  }

  /**
   * A deployment of another team or environment looks like one that does not exist.
   *
   * @throws AppError `deployment_not_found`
   */
  async deployment(caller: Caller, slug: string): Promise<MonitoredDeployment> {
    const found = isId(slug, 'dep_')
      ? await this.options.store.deployment(caller.teamId, slug)
      : null
    const own = caller.kind === 'key' ? caller.environment : null
    if (found === null || (own !== null && own !== found.environment)) throw deploymentNotFound()
    return found
  }

  /**
   * A model of the team and, where one is given, of the environment.
   *
   * @throws AppError `model_not_found`
   */
  async model(
    teamId: string,
    modelId: string,
    environment: Environment | null = null,
  ): Promise<MonitoredModel> {
    const facts = isId(modelId, 'mod_')
      ? await this.options.store.modelFacts(teamId, modelId)
      : null
    const isOther = environment !== null && facts?.environment !== environment
    const stored = facts === null || isOther ? undefined : await this.stored(modelId)
    if (facts === null || stored === undefined || stored.card === null) {
      throw new AppError('model_not_found', 'there is no model with this id')
    }
    const { createdBy, createdAt } = facts
    return { stored, card: stored.card, registered: { createdBy, createdAt } }
  }

  /** Direction of the scores of a logged model. */
  async findDirection(modelId: string): Promise<Direction> {
    return findDirection((await this.stored(modelId))?.card?.spec.scaling)
  }

  private async stored(modelId: string): Promise<StoredModel | undefined> {
    return (await this.options.models.get([modelId])).get(modelId)
  }

  /** The development sample in force: the one stored last, else that of the specification. */
  async baseline(
    { stored, card, registered }: MonitoredModel,
    untilMs?: number,
  ): Promise<Baseline | null> {
    const { modelId } = stored
    const found = await this.options.store.baseline(modelId, untilMs)
    return found === null ? specBaseline(modelId, registered, card) : readBaseline(found, card)
  }

  /** @throws AppError `challenger_not_found` */
  async challengerModel(teamId: string, slug: string, id: string): Promise<MonitoredModel> {
    const modelId = isId(id, 'ch_') ? await this.options.store.challengerModel(slug, id) : null
    if (modelId === null) {
      throw new AppError('challenger_not_found', 'the deployment has no such challenger')
    }
    return this.model(teamId, modelId)
  }
}
