import type { Static } from '@sinclair/typebox'
import type { BaselineCounts, BaselineRequest } from '../../../schemas/baselines.ts'
import type { UserCaller } from '../../http/access/caller.ts'
import { auditRecord } from '../../identity/audit/record.ts'
import type { Clock } from '../../platform/clock.ts'
import { newId, timeOfId } from '../../platform/ids.ts'
import {
  cellCounts,
  computeMeanScore,
  computeSum,
  type ScoreBand,
  type StoredBaseline,
} from './baseline.ts'
import { type Card, cellLayout } from './cell-layout.ts'
import { checkCounts } from './check-counts.ts'
import type { Monitored } from './monitored.ts'
import type { MonitoringReports } from './reports.ts'
import type { Sample } from './sample-counts.ts'
import type { NewBaseline } from './store.ts'

interface BaselineOptions {
  readonly monitored: Monitored
  readonly reports: Pick<MonitoringReports, 'sample'>
  readonly clock: Clock
}

type Period = Static<typeof BaselineRequest>['period']

interface NewSample {
  readonly sample: Sample
  readonly period: Period
}

/** Facts that are kept of the development of a model. */
interface DevelopmentSample {
  /** Null without one. */
  readonly baseline: Pick<StoredBaseline, 'id' | 'origin' | 'n' | 'meanScore' | 'createdAt'> | null
  readonly developmentAuc: number | null
}

/** Development samples of models. */
export class BaselineService {
  private readonly options: BaselineOptions

  constructor(options: BaselineOptions) {
    this.options = options
  }

  /**
   * Stores a development sample, which is in force from then on, its AUC, or both.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`, `model_not_found`,
   *   `invalid_baseline`; `unavailable`
   */
  async put(
    caller: UserCaller,
    modelId: string,
    { period, counts, development_auc: auc }: Static<typeof BaselineRequest>,
  ): Promise<DevelopmentSample> {
    const { monitored } = this.options
    const model = await monitored.model(caller.teamId, modelId)
    const sample =
      counts !== undefined
        ? ofCounts(checkCounts(counts, model.card), model.card)
        : period !== undefined
          ? await this.ofPeriod(caller, modelId, period)
          : null
    const stored = sample && (await this.store(caller, modelId, { sample, period }))
    if (auc !== undefined) await this.setAuc(caller, modelId, auc)
    const developmentAuc = auc ?? (await monitored.store.developmentAuc(modelId))
    return { baseline: stored ?? (await monitored.baseline(model)), developmentAuc }
  }

  private setAuc(caller: UserCaller, modelId: string, auc: number | null): Promise<void> {
    const { monitored, clock } = this.options
    return monitored.store.setDevelopmentAuc(modelId, auc, (before) => {
      const fields = (value: number | null) => ({ development_auc: value })
      const action = 'model.set_baseline' as const
      const change = { action, subject: modelId, before: fields(before), after: fields(auc) }
      return auditRecord(caller, change, clock.epochMs())
    })
  }

  private async store(
    caller: UserCaller,
    modelId: string,
    { sample, period }: NewSample,
  ): Promise<NewBaseline> {
    const { monitored, clock } = this.options
    const epochMs = clock.epochMs()
    // Ids say which one is in force: this one is later also by the clock of another replica.
    const last = await monitored.store.baseline(modelId)
    const lastMs = (last && timeOfId(last.id)) ?? Number.NEGATIVE_INFINITY
    const id = newId('bsl_', Math.max(epochMs, lastMs + 1))
    const createdAt = new Date(epochMs)
    const { teamId, userId: createdBy } = caller
    const baseline = { id, teamId, modelId, ...sample, createdBy, createdAt }
    const after = { id, origin: sample.origin, n: sample.n, ...(period && { period }) }
    const change = { action: 'model.set_baseline', subject: modelId, after } as const
    await monitored.store.addBaseline(baseline, auditRecord(caller, change, epochMs))
    return baseline
  }

  private ofPeriod(
    caller: UserCaller,
    modelId: string,
    period: NonNullable<Period>,
  ): Promise<Sample> {
    const { deployment, from, to = this.now() } = period
    return this.options.reports.sample(caller, deployment, { model: modelId, from, to })
  }

  private now(): string {
    return new Date(this.options.clock.epochMs() + 1).toISOString()
  }
}

function ofCounts(counts: BaselineCounts, card: Card): Sample {
  const features = cellLayout(card).map((layout) => {
    const ofFeature = counts.features[layout.name]
    return ofFeature === undefined ? null : cellCounts(layout, ofFeature)
  })
  const bands: readonly ScoreBand[] = counts.score_bands ?? []
  const sums = [
    ...features.map((cells) => computeSum(cells ?? [])),
    computeSum(bands.map(({ n }) => n)),
  ]
  return {
    origin: 'counts',
    n: sums.reduce((most, sum) => Math.max(most, sum), 0),
    meanScore: computeMeanScore(card, features),
    counts,
  }
}
