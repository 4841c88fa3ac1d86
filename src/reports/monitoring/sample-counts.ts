import type { BaselineCounts } from '../../../schemas/baselines.ts'
import { type Applicant, ModelScore, scoreApplicant } from '../../engine/index.ts'
import type { Caller } from '../../http/access/caller.ts'
import type { PartReader, ScannedColumns, TimeRange } from '../../log/index.ts'
import { ExactSum } from '../../platform/exact-sum.ts'
import { ValueDistribution } from '../stats/value-distribution.ts'
import { countsOfCells, type ScoreBand } from './baseline.ts'
import { type Card, cellLayout } from './cell-layout.ts'
import { invalidBaseline } from './check-counts.ts'
import { lazily, ModelTallies } from './model-tally.ts'
import type { MonitoredModel } from './monitored.ts'
import type { QueuedScans } from './queued-scans.ts'
import type { NewBaseline } from './store.ts'

/** A development sample, counted applicant by applicant. */
export interface CountedSample {
  readonly n: number
  /** Null without applicants. */
  readonly meanScore: number | null
  readonly counts: BaselineCounts
}

/**
 * Scores the applicants of a development sample, and counts them; see `countScored`.
 *
 * @param applicants whose values are numbers, texts or null
 */
export function countSample(card: Card, applicants: Iterable<Applicant>): CountedSample {
  const modelScore = new ModelScore(card.model)
  const rowsOfSlots = new Float64Array(card.model.points.length)
  const scores: number[] = []
  for (const applicant of applicants) {
    scoreApplicant(applicant, modelScore)
    scores.push(modelScore.score)
    for (const slot of modelScore.slots) rowsOfSlots[slot] = (rowsOfSlots[slot] ?? 0) + 1
  }
  return countScored(card, { rowsOfSlots, scores })
}

/** Applicants of a sample as the engine scored them. */
export interface ScoredSample {
  /** Applicants of each slot of the compiled model. */
  readonly rowsOfSlots: Float64Array
  readonly scores: readonly number[]
}

/**
 * Counts the applicants of a development sample by bin and by score band. The bands hold about as
 * many applicants each. No count is unknown.
 *
 * @throws Error for a value of an impossible type, which no reader of samples gives
 */
export function countScored(card: Card, { rowsOfSlots, scores }: ScoredSample): CountedSample {
  const { slotStart, cellOfSlot } = card.model
  const features = cellLayout(card).map((layout, feature) => {
    const counts = new Float64Array(layout.cells.length)
    for (let slot = slotStart[feature] ?? 0; slot < (slotStart[feature + 1] ?? 0); slot++) {
      const rows = rowsOfSlots[slot] ?? 0
      if (rows === 0) continue
      const place = layout.placeOf[cellOfSlot[slot] ?? -1] ?? -1
      if (place < 0) throw new Error(`an applicant has an impossible value for ${layout.name}`)
      counts[place] = (counts[place] ?? 0) + rows
    }
    return [layout.name, countsOfCells(layout, counts)]
  })
  const distribution = new ValueDistribution()
  const sum = new ExactSum()
  for (const score of scores) {
    distribution.add(score)
    sum.add(score)
  }
  const bands = bandsOver(distribution).map((band) => ({ ...band }))
  for (const score of scores) {
    const band = bands.find(({ max }) => max === null || score < max)
    if (band !== undefined) band.n++
  }
  const n = scores.length
  return {
    n,
    meanScore: n === 0 ? null : sum.meanOver(n),
    counts: { features: Object.fromEntries(features), score_bands: bands },
  }
}

/** Ends of ten bands of about as many applicants each. */
const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] as const

/** Finds the ends of score bands with about as many applicants each. */
export class ScoreEdges {
  private readonly scores = new ValueDistribution()
  private readonly modelId: string

  constructor(modelId: string) {
    this.modelId = modelId
  }

  readonly makeReader = (columns: ScannedColumns): PartReader | null => {
    const model = columns.models.find(({ modelId }) => modelId === this.modelId)
    if (model === undefined) return null
    const { scored } = model
    return {
      takes: (row) => scored[row] === 1,
      add: lazily(() => {
        const { scores } = model
        return (rows) => {
          for (const row of rows) this.scores.add(scores[row] ?? 0)
        }
      }),
    }
  }

  /** Bands over all scores, see `bandsOver`. */
  bands(): ScoreBand[] {
    return bandsOver(this.scores)
  }
}

/** Bands over all scores, empty as yet; fewer than ten where many applicants share a score. */
function bandsOver(scores: ValueDistribution): ScoreBand[] {
  const ends = scores.percentiles(SHARES).filter((end) => end !== null && end > scores.min)
  const edges = [null, ...new Set(ends), null]
  return edges.slice(1).map((max, place) => ({ min: edges[place] ?? null, max, n: 0 }))
}

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
