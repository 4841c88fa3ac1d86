import type { Caller, Environment } from '../access/caller.ts'
import type { NewAuditRecord } from '../audit/record.ts'
import { AppError, deploymentNotFound } from '../errors.ts'
import { isId } from '../platform/ids/ids.ts'
import type { StoredModel, StoredModels } from '../score-log/reading/stored-models.ts'
import { type Baseline, baselineOf, type StoredBaseline, specBaseline } from './baseline.ts'
import type { Card } from './cell-layout.ts'
import { type Direction, directionOf } from './pd-group.ts'

export interface MonitoredDeployment {
  readonly environment: Environment
  readonly championId: string
}

export interface NewBaseline extends StoredBaseline {
  readonly teamId: string
  readonly origin: 'period' | 'counts'
}

export interface ModelFacts {
  readonly environment: Environment
  readonly createdAt: Date
}

/** What monitoring asks the database beside the log. */
export interface MonitoringStore {
  /** Null if the team has no such deployment. */
  deployment(teamId: string, deploymentId: string): Promise<MonitoredDeployment | null>
  /** Null if the team has no such model. */
  modelFacts(teamId: string, modelId: string): Promise<ModelFacts | null>
  /** The model of a challenger, active or not; null if the deployment has no such one. */
  challengerModel(deploymentId: string, challengerId: string): Promise<string | null>
  /** The baseline that was stored last; null without one. */
  baseline(modelId: string): Promise<StoredBaseline | null>
  addBaseline(baseline: NewBaseline, audit: NewAuditRecord): Promise<void>
}

/** A model with its development sample. */
export interface MonitoredModel {
  readonly stored: StoredModel
  readonly card: Card
  readonly createdAt: Date
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
    return { stored, card: stored.card, createdAt: facts.createdAt }
  }

  /** Direction of the scores of a logged model. */
  async directionOf(modelId: string): Promise<Direction> {
    return directionOf((await this.stored(modelId))?.card?.spec.scaling)
  }

  private async stored(modelId: string): Promise<StoredModel | undefined> {
    return (await this.options.models.get([modelId])).get(modelId)
  }

  /** The development sample in force: the one stored last, else that of the specification. */
  async baseline({ stored, card, createdAt }: MonitoredModel): Promise<Baseline | null> {
    const { modelId } = stored
    const found = await this.options.store.baseline(modelId)
    return found === null ? specBaseline(modelId, createdAt, card) : baselineOf(found, card)
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
