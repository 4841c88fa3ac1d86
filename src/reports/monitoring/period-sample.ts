import type { BaselineCounts } from '../../../schemas/baselines.ts'
import type { Caller } from '../../http/access/caller.ts'
import type { TimeRange } from '../../log/index.ts'
import { countsOfCells } from './baseline.ts'
import { cellLayout } from './cell-layout.ts'
import { invalidBaseline } from './check-counts.ts'
import { ModelTallies } from './model-tally.ts'
import type { MonitoredModel } from './monitored.ts'
import type { QueuedScans } from './queued-scans.ts'
import { ScoreEdges } from './sample-counts.ts'
import type { NewBaseline } from './store.ts'

export type Sample = Pick<NewBaseline, 'origin' | 'n' | 'meanScore' | 'counts'>

interface SampledPeriod {
  readonly deploymentId: string
  readonly range: TimeRange
}

/**
 * Counts the scores of a period twice: for the ends of bands, and then in them.
 *
 * @throws AppError `invalid_baseline` without a score; `unavailable`
 */
export function sampleOfPeriod(
  scans: QueuedScans,
  { teamId }: Pick<Caller, 'teamId'>,
  { stored: { modelId }, card }: MonitoredModel,
  { deploymentId, range }: SampledPeriod,
): Promise<Sample> {
  const query = { teamId, deploymentId, ...range }
  const layouts = cellLayout(card)
  return scans.run({ teamId }, async (scan) => {
    const edges = new ScoreEdges(modelId)
    await scan({ query, dedupe: 'none' }, edges.makeReader)
    const bands = edges.bands()
    const tallies = new ModelTallies({ modelId, population: 'all', layouts, bands })
    await scan({ query, dedupe: 'last' }, tallies.makeReader)
    const tally = tallies.single
    if (tally.n === 0) throw invalidBaseline('the period has no scores of this model')
    const counted = layouts.map((layout, feature) => [
      layout.name,
      countsOfCells(layout, tallies.readCounts(tally, feature)),
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
