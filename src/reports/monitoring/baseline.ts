import type { Static } from '@sinclair/typebox'
import type { BaselineCounts } from '../../../schemas/baselines.ts'
import type { BaselineOrigin } from '../../../schemas/monitoring.ts'
import { isCount, isCountable, type ScorecardSpec } from '../../engine/index.ts'
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
  /** The user who set it, or registered the model that has it. */
  readonly createdBy: string
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
export function readBaseline(stored: StoredBaseline, card: Card): Baseline {
  const { features, score_bands: bands } = stored.counts
  return {
    id: stored.id,
    origin: stored.origin,
    n: stored.n,
    meanScore: stored.meanScore,
    createdBy: stored.createdBy,
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
export function computeMeanScore(card: Card, features: Baseline['features']): number | null {
  let mean = card.spec.base_points
  for (const [index, { cells }] of cellLayout(card).entries()) {
    const points = computeMeanPoints(cells, features[index] ?? null)
    if (points === null) return null
    mean += points
  }
  return mean
}

/** The mean points of the counted applicants; null without any. */
export function computeMeanPoints(
  cells: FeatureLayout['cells'],
  counts: ArrayLike<number | null> | null,
): number | null {
  const n = computeSum(counts ?? [])
  if (counts === null || n === 0) return null
  return cells.reduce((sum, { points }, place) => sum + ((counts[place] ?? 0) / n) * points, 0)
}

/** Sum of the known counts. */
export function computeSum(counts: ArrayLike<number | null>): number {
  let sum = 0
  for (let place = 0; place < counts.length; place++) sum += counts[place] ?? 0
  return sum
}

/** The user who registered a model, with the sample in its specification, and when. */
export interface Registration {
  readonly createdBy: string
  readonly createdAt: Date
}

/** The fields of a specification that hold its development sample. */
interface CountedFeature {
  readonly name: string
  readonly bins: readonly { readonly baseline_count?: unknown }[]
  readonly baseline_outcomes?: unknown
}

/**
 * The baseline in a specification: `baseline_count` of its bins and `baseline_outcomes` of its
 * features. A feature takes part if each of its bins has a count, and their sum is one.
 *
 * @returns null if no feature does
 */
export function specBaseline(modelId: string, by: Registration, card: Card): Baseline | null {
  const counts = countsInSpec(card.spec)
  const layouts = cellLayout(card)
  const features = layouts.map((layout) => {
    const ofFeature = counts.get(layout.name)
    return ofFeature === undefined ? null : cellCounts(layout, ofFeature)
  })
  const n = Math.max(0, ...features.map((cells) => computeSum(cells ?? [])))
  if (n === 0) return null
  return {
    id: SPEC_BASELINE_PREFIX + modelId.slice(modelId.indexOf('_') + 1),
    origin: 'spec',
    n,
    meanScore: computeMeanScore(card, features),
    ...by,
    features,
    bands: null,
  }
}

/** Tells whether a specification has a development sample of its own, see `specBaseline`. */
export function hasCounts(card: Card): boolean {
  return specBaseline('', { createdBy: '', createdAt: new Date(0) }, card) !== null
}

function countsInSpec({
  features,
}: ScorecardSpec): Map<string, BaselineCounts['features'][string]> {
  const found = new Map<string, BaselineCounts['features'][string]>()
  for (const { name, bins, baseline_outcomes } of features as readonly CountedFeature[]) {
    const counts = bins.flatMap(({ baseline_count: count }) => (isCount(count) ? [count] : []))
    if (counts.length < bins.length) continue
    const others = (baseline_outcomes ?? {}) as Readonly<Record<string, unknown>>
    const outcomes = {
      missing: readCount(others['missing']),
      unseen_category: readCount(others['unseen_category']),
      no_bin: readCount(others['no_bin']),
      not_a_number: readCount(others['not_a_number']),
    }
    const known = Object.values(outcomes).map((count) => count ?? 0)
    if (isCountable([...counts, ...known])) found.set(name, { bins: counts, ...outcomes })
  }
  return found
}

function readCount(value: unknown): number | null {
  return isCount(value) ? value : null
}
