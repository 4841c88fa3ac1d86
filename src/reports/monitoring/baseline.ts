import type { Static } from '@sinclair/typebox'
import type { BaselineCounts } from '../../schemas/baselines.ts'
import type { BaselineOrigin } from '../../schemas/monitoring.ts'
import type { ScorecardSpec } from '../engine/index.ts'
import { type Card, type CellOutcome, cellLayout, type FeatureLayout } from './cell-layout.ts'

/** A range of scores `[min, max)` with its number of applicants; null is unbounded. */
export interface ScoreBand {
  readonly min: number | null
  readonly max: number | null
  readonly n: number
}

/** A model's development sample as it is stored. */
export interface StoredBaseline {
  readonly id: string
  readonly modelId: string
  readonly origin: Static<typeof BaselineOrigin>
  readonly n: number
  readonly meanScore: number | null
  readonly createdAt: Date
  readonly counts: BaselineCounts
}

/** The same for the cells of a card. */
export interface Baseline extends Omit<StoredBaseline, 'counts' | 'modelId'> {
  /** Counts by cell of each feature in spec order, null where unknown; null without counts. */
  readonly features: readonly ((number | null)[] | null)[]
  readonly bands: readonly ScoreBand[] | null
}

/** Bin counts are facts of the specification: the same model always has the same baseline. */
const SPEC_BASELINE_PREFIX = 'bsl_'

/** Puts stored counts, which fit the card, in the order of its cells. */
export function baselineOf(stored: StoredBaseline, card: Card): Baseline {
  const { features, score_bands: bands } = stored.counts
  return {
    id: stored.id,
    origin: stored.origin,
    n: stored.n,
    meanScore: stored.meanScore,
    createdAt: stored.createdAt,
    features: cellLayout(card).map((layout) => {
      const counts = features[layout.name]
      return counts === undefined ? null : cellCounts(layout, counts)
    }),
    bands: bands ?? null,
  }
}

/** The counts of a feature by cell; the Missing bin's stand among those of the bins. */
export function cellCounts(
  { cells, missingBinPlace }: FeatureLayout,
  counts: BaselineCounts['features'][string],
): (number | null)[] {
  return cells.map(({ outcome, bin }, place) => {
    if (outcome !== 'matched' && place !== missingBinPlace) return counts[outcome] ?? null
    return counts.bins[bin ?? -1] ?? null
  })
}

/** The opposite of `cellCounts`. */
export function countsOfCells(
  { cells, missingBinPlace }: FeatureLayout,
  actual: ArrayLike<number>,
): BaselineCounts['features'][string] {
  const bins: number[] = []
  const others: Partial<Record<Exclude<CellOutcome, 'matched'>, number>> = {}
  for (const [place, { outcome, bin }] of cells.entries()) {
    const isBin = outcome === 'matched' || place === missingBinPlace
    if (isBin && bin !== null) bins[bin] = actual[place] ?? 0
    else if (outcome !== 'matched') others[outcome] = actual[place] ?? 0
  }
  return { bins, ...others }
}

/**
 * The mean score of a development sample: base points and the mean points of each feature.
 *
 * @returns null if a feature has no counts
 */
export function meanScoreOf(card: Card, features: Baseline['features']): number | null {
  let mean = card.spec.base_points
  for (const [index, { cells }] of cellLayout(card).entries()) {
    const points = meanPointsOf(cells, features[index] ?? null)
    if (points === null) return null
    mean += points
  }
  return mean
}

/** The mean points of the counted applicants; null without any. */
export function meanPointsOf(
  cells: FeatureLayout['cells'],
  counts: ArrayLike<number | null> | null,
): number | null {
  const n = sumOf(counts ?? [])
  if (counts === null || n === 0) return null
  return cells.reduce((sum, { points }, place) => sum + ((counts[place] ?? 0) / n) * points, 0)
}

/** Sum of the known counts. */
export function sumOf(counts: ArrayLike<number | null>): number {
  let sum = 0
  for (let place = 0; place < counts.length; place++) sum += counts[place] ?? 0
  return sum
}

/** The fields of a specification that hold its development sample. */
interface CountedFeature {
  readonly name: string
  readonly bins: readonly { readonly baseline_count?: unknown }[]
  readonly baseline_outcomes?: unknown
}

/**
 * The baseline in a specification: `baseline_count` of its bins and `baseline_outcomes` of its
 * features. A feature takes part if each of its bins has a count.
 *
 * @returns null if no feature does
 */
export function specBaseline(modelId: string, createdAt: Date, card: Card): Baseline | null {
  const counts = countsInSpec(card.spec)
  const layouts = cellLayout(card)
  const features = layouts.map((layout) => {
    const ofFeature = counts.get(layout.name)
    return ofFeature === undefined ? null : cellCounts(layout, ofFeature)
  })
  const n = Math.max(0, ...features.map((cells) => sumOf(cells ?? [])))
  if (n === 0) return null
  return {
    id: SPEC_BASELINE_PREFIX + modelId.slice(modelId.indexOf('_') + 1),
    origin: 'spec',
    n,
    meanScore: meanScoreOf(card, features),
    createdAt,
    features,
    bands: null,
  }
}

/** Whether a specification has a development sample of its own, see `specBaseline`. */
export function hasCounts(card: Card): boolean {
  return specBaseline('', new Date(0), card) !== null
}

function countsInSpec({
  features,
}: ScorecardSpec): Map<string, BaselineCounts['features'][string]> {
  const found = new Map<string, BaselineCounts['features'][string]>()
  for (const { name, bins, baseline_outcomes } of features as readonly CountedFeature[]) {
    const counts = bins.map((bin) => countOf(bin.baseline_count))
    if (counts.includes(null)) continue
    const others = (baseline_outcomes ?? {}) as Readonly<Record<string, unknown>>
    found.set(name, {
      bins: counts.map((count) => count ?? 0),
      missing: countOf(others['missing']),
      unseen_category: countOf(others['unseen_category']),
      no_bin: countOf(others['no_bin']),
      not_a_number: countOf(others['not_a_number']),
    })
  }
  return found
}

function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null
}
