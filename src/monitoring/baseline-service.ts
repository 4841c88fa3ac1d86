import type { Static } from '@sinclair/typebox'
import type { BaselineCounts, BaselineRequest } from '../../schemas/baselines.ts'
import type { UserCaller } from '../access/caller.ts'
import { auditRecord } from '../audit/record.ts'
import { AppError } from '../errors.ts'
import type { Clock } from '../platform/clock.ts'
import { newId } from '../platform/ids/ids.ts'
import { readTimeRange } from '../rollups/moment.ts'
import { cellCounts, countsOfCells, meanScoreOf, type ScoreBand, sumOf } from './baseline.ts'
import { type Card, cellLayout } from './cell-layout.ts'
import { checkCounts, invalidBaseline } from './check-counts.ts'
import { ModelTallies } from './model-tally.ts'
import type { Monitored, MonitoredModel, NewBaseline } from './monitored.ts'
import { ScoreEdges } from './score-edges.ts'

interface BaselineOptions {
  readonly monitored: Monitored
  readonly clock: Clock
}

/** What a baseline is made of. */
type Sample = Pick<NewBaseline, 'origin' | 'n' | 'meanScore' | 'counts'>

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
        ? await this.ofPeriod(caller, model, period)
        : ofCounts(checkCounts(counts, model.card), model.card)
    const epochMs = clock.epochMs()
    const id = newId('bsl_', epochMs)
    const createdAt = new Date(epochMs)
    const baseline = { id, teamId: caller.teamId, modelId, ...sample, createdAt }
    const after = { id, origin: sample.origin, n: sample.n, ...(period && { period }) }
    const change = { action: 'model.set_baseline', subject: modelId, after } as const
    await monitored.store.addBaseline(baseline, auditRecord(caller, change, epochMs))
    return baseline
  }

  /** Counts the scores of a period twice: for the ends of bands, and then in them. */
  private async ofPeriod(
    caller: UserCaller,
    { stored: { modelId }, card }: MonitoredModel,
    period: Static<typeof BaselineRequest>['period'],
  ): Promise<Sample> {
    const { monitored } = this.options
    if (period === undefined) throw new AppError('invalid_request', 'name a period or counts')
    const range = readTimeRange(period)
    await monitored.deployment(caller, period.deployment)
    const query = { teamId: caller.teamId, deploymentId: period.deployment, ...range }
    const layouts = cellLayout(card)
    return monitored.queued(async (scan) => {
      const edges = new ScoreEdges(modelId)
      await scan({ query, dedupe: 'none' }, edges.readerOf)
      const bands = edges.bands()
      const tallies = new ModelTallies({ modelId, population: 'all', layouts, bands })
      await scan({ query, dedupe: 'last' }, tallies.readerOf)
      const tally = tallies.single
      if (tally.n === 0) throw invalidBaseline('the period has no scores of this model')
      const counted = layouts.map((layout, feature) => [
        layout.name,
        countsOfCells(layout, tallies.countsOf(tally, feature)),
      ])
      const features = Object.fromEntries(counted) as BaselineCounts['features']
      const scoreBands = bands.map((band, place) => ({ ...band, n: tally.bands[place] ?? 0 }))
      return {
        origin: 'period',
        n: tally.n,
        meanScore: tally.meanScore,
        counts: { features, score_bands: scoreBands },
      }
    })
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
