import type { Static } from '@sinclair/typebox'
import type { BaselineCounts, BaselineRequest } from '../../schemas/baselines.ts'
import type { UserCaller } from '../access/caller.ts'
import { auditRecord } from '../audit/record.ts'
import { AppError } from '../errors.ts'
import type { Clock } from '../platform/clock.ts'
import { newId, timeOfId } from '../platform/ids/ids.ts'
import { cellCounts, meanScoreOf, type ScoreBand, sumOf } from './baseline.ts'
import { type Card, cellLayout } from './cell-layout.ts'
import { checkCounts } from './check-counts.ts'
import type { Monitored, NewBaseline } from './monitored.ts'
import type { Sample } from './period-sample.ts'
import type { MonitoringReports } from './reports.ts'

interface BaselineOptions {
  readonly monitored: Monitored
  readonly reports: Pick<MonitoringReports, 'sample'>
  readonly clock: Clock
}

/** Development samples of models. */
export class BaselineService {
  private readonly options: BaselineOptions

  constructor(options: BaselineOptions) {
    this.options = options
  }

  /**
   * Stores a development sample, which is in force from then on.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`, `model_not_found`,
   *   `invalid_baseline`; `unavailable`
   */
  async put(
    caller: UserCaller,
    modelId: string,
    { period, counts }: Static<typeof BaselineRequest>,
  ): Promise<NewBaseline> {
    const { monitored, clock } = this.options
    const model = await monitored.model(caller.teamId, modelId)
    const sample =
      counts === undefined
        ? await this.ofPeriod(caller, modelId, period)
        : ofCounts(checkCounts(counts, model.card), model.card)
    const epochMs = clock.epochMs()
    // Ids say which one is in force: this one is later also by the clock of another replica.
    const last = await monitored.store.baseline(modelId)
    const lastMs = (last && timeOfId(last.id)) ?? Number.NEGATIVE_INFINITY
    const id = newId('bsl_', Math.max(epochMs, lastMs + 1))
    const createdAt = new Date(epochMs)
    const baseline = { id, teamId: caller.teamId, modelId, ...sample, createdAt }
    const after = { id, origin: sample.origin, n: sample.n, ...(period && { period }) }
    const change = { action: 'model.set_baseline', subject: modelId, after } as const
    await monitored.store.addBaseline(baseline, auditRecord(caller, change, epochMs))
    return baseline
  }

  private ofPeriod(
    caller: UserCaller,
    modelId: string,
    period: Static<typeof BaselineRequest>['period'],
  ): Promise<Sample> {
    if (period === undefined) throw new AppError('invalid_request', 'name a period or counts')
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
  const sums = [...features.map((cells) => sumOf(cells ?? [])), sumOf(bands.map(({ n }) => n))]
  return {
    origin: 'counts',
    n: sums.reduce((most, sum) => Math.max(most, sum), 0),
    meanScore: meanScoreOf(card, features),
    counts,
  }
}
