import type { Stability } from '../../../schemas/monitoring.ts'
import { type Baseline, computeMeanPoints, computeSum } from './baseline.ts'
import type { Card, FeatureLayout } from './cell-layout.ts'
import type { ModelTallies, ModelTally } from './model-tally.ts'
import {
  decideVerdict,
  type Stability as Index,
  populationStability,
  type Thresholds,
  type ZeroFill,
} from './statistics/population-stability.ts'

/** Rises with a change that gives the same counts other figures. */
export const FORMULA_VERSION = 1

export interface StabilityInput {
  readonly card: Card
  readonly layouts: readonly FeatureLayout[]
  readonly baseline: Baseline | null
  readonly zeroFill: ZeroFill
  readonly thresholds: Thresholds
}

type ScoreStability = Stability['score']
type FeatureStability = Stability['features'][number]

const NO_INDEX = {
  psi: null,
  zero_bins: null,
  cv_95: null,
  p_value: null,
  verdict: null,
} as const

function indexFields(index: Index, thresholds: Thresholds) {
  return {
    psi: index.psi,
    zero_bins: index.zeroBins,
    cv_95: index.cv95,
    p_value: index.pValue,
    verdict: decideVerdict(index, thresholds),
  }
}

function readExpected(baseline: Baseline | null): number | null {
  const bands = baseline?.bands ?? null
  return bands === null ? (baseline?.n ?? null) : bands.reduce((sum, { n }) => sum + n, 0)
}

/** Compares the scores of a period with those of the development sample. */
export function scoreStability(
  { baseline, zeroFill, thresholds }: StabilityInput,
  tally: ModelTally,
): ScoreStability {
  const means = {
    n: tally.n,
    // The indices are over the bands, which can hold fewer than the largest feature.
    n_expected: readExpected(baseline),
    mean: tally.meanScore,
    mean_expected: baseline?.meanScore ?? null,
  }
  const bands = baseline?.bands ?? null
  if (bands === null) return { ...means, ...NO_INDEX, bands: [] }
  const expected = bands.map(({ n }) => n)
  const actual = [...tally.bands]
  const index = populationStability(expected, actual, zeroFill)
  return {
    ...means,
    ...indexFields(index, thresholds),
    bands: bands.map(({ min, max, n }, band) => ({
      min,
      max,
      expected: n,
      expected_share: index.cells[band]?.expectedShare ?? null,
      actual: actual[band] ?? 0,
      actual_share: index.cells[band]?.actualShare ?? null,
      psi: index.cells[band]?.psi ?? null,
    })),
  }
}

/** Compares the values of each feature with those of the development sample. */
export function featureStabilities(
  input: StabilityInput,
  tallies: ModelTallies,
  tally: ModelTally,
): FeatureStability[] {
  return input.layouts.map((layout, feature) => {
    const actual = tallies.readCounts(tally, feature)
    return featureStability(input, feature, { layout, actual, n: tally.n })
  })
}

interface FeatureCounts {
  readonly layout: FeatureLayout
  readonly actual: Float64Array
  readonly n: number
}

function featureStability(
  { card, baseline, zeroFill, thresholds }: StabilityInput,
  feature: number,
  { layout, actual, n }: FeatureCounts,
): FeatureStability {
  const expected = baseline?.features[feature] ?? null
  const expectedSum = expected === null ? null : computeSum(expected)
  const isKnown = (place: number) => expected !== null && (expected[place] ?? null) !== null
  const known = layout.cells.flatMap((_, place) => (isKnown(place) ? [place] : []))
  const index =
    expected === null
      ? null
      : populationStability(
          known.map((place) => expected[place] ?? 0),
          known.map((place) => actual[place] ?? 0),
          zeroFill,
        )
  const placeInIndex = new Map(known.map((place, at) => [place, at]))
  const computeShare = (count: number) => (n === 0 ? null : count / n)
  const cells = layout.cells.map(({ outcome, bin, points }, place) => {
    const ofIndex = index?.cells[placeInIndex.get(place) ?? -1]
    const count = actual[place] ?? 0
    const expectedPart = expectedSum ? (expected?.[place] ?? 0) / expectedSum : null
    return {
      outcome,
      bin: bin === null ? null : findBin(card, feature, bin),
      points,
      expected: expected?.[place] ?? null,
      expected_share: ofIndex?.expectedShare ?? null,
      actual: count,
      actual_share: ofIndex === undefined ? computeShare(count) : ofIndex.actualShare,
      psi: ofIndex?.psi ?? null,
      points_part: expectedPart === null || n === 0 ? null : (count / n - expectedPart) * points,
    }
  })
  const { psi, ...fields } = index === null ? NO_INDEX : indexFields(index, thresholds)
  const countVerdicts = (wanted: string) =>
    layout.cells.reduce(
      (sum, { outcome }, place) => sum + (outcome === wanted ? (actual[place] ?? 0) : 0),
      0,
    )
  return {
    name: layout.name,
    n,
    n_compared: known.reduce((sum, place) => sum + (actual[place] ?? 0), 0),
    n_expected: expectedSum,
    csi_psi: psi,
    csi_points: pointsMoved(layout, expected, actual),
    ...fields,
    missing_share: computeShare(countVerdicts('missing')),
    unseen_share: computeShare(countVerdicts('unseen_category')),
    no_bin_share: computeShare(countVerdicts('no_bin')),
    not_a_number_share: computeShare(countVerdicts('not_a_number')),
    cells,
  }
}

/** Mean points of all applicants minus those of the counted sample; null beyond a double. */
function pointsMoved(
  { cells }: FeatureLayout,
  expected: readonly (number | null)[] | null,
  actual: Float64Array,
): number | null {
  return movedBy(computeMeanPoints(cells, actual), computeMeanPoints(cells, expected))
}

/** The difference of two means; null without one of them, and beyond the range of a double. */
export function movedBy(now: number | null, then: number | null): number | null {
  const moved = now === null || then === null ? null : now - then
  return moved !== null && Number.isFinite(moved) ? moved : null
}

/** A bin as answers name it. */
export function findBin({ spec }: Card, feature: number, index: number) {
  const ofFeature = spec.features[feature]
  if (ofFeature?.type === 'numeric') return { index, range: ofFeature.bins[index]?.range ?? '' }
  return { index, value: ofFeature?.bins[index]?.value ?? '' }
}
