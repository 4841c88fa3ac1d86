import type { CompiledModel, ScalingSpec, ScorecardSpec } from '../../engine/index.ts'
import { Notes } from './build/notes.ts'
import type { Sample } from './sample.ts'

/**
 * The scale of a card with whole points beside the one that its sample shows.
 *
 * Rounding moves each applicant by up to half a point a feature, so that no single one can show a
 * scale that is off by less. The rounding of different bins cancels in the mean.
 */
export interface ScaleCheck {
  readonly given: ScalingSpec
  /** With the odds of `given`; null if no scale fits. */
  readonly fitted: ScalingSpec | null
  /** Mean of the scores that the probabilities stand for minus those of the engine, in points. */
  readonly meanPoints: number
}

/** A mean further off is rounding by chance once in some 400 cards. */
const DEVIATIONS_MAX = 3
/** A probability that is printed more coarsely says too little about the score. */
const PD_POINTS_MAX = 0.5

/**
 * Bounds the mean that rounding gives: the error of each bin is uniform within half a point, and
 * independent of the others.
 *
 * @param rowsOfSlots applicants of each slot
 * @returns in points
 */
export function roundingMeanMax(
  { slotStart }: CompiledModel,
  rowsOfSlots: Float64Array,
  rows: number,
): number {
  let squares = 1
  for (let feature = 0; feature + 1 < slotStart.length; feature++) {
    for (let slot = slotStart[feature] ?? 0; slot < (slotStart[feature + 1] ?? 0); slot++) {
      squares += ((rowsOfSlots[slot] ?? 0) / rows) ** 2
    }
  }
  return DEVIATIONS_MAX * Math.sqrt(squares / 12)
}

/**
 * Compares the scale of a card with the probabilities of its sample.
 *
 * @param scores of the engine, in the order of the sample
 * @returns null without a scale, or without probabilities that say enough
 */
export function checkScale(
  { scaling }: ScorecardSpec,
  model: CompiledModel,
  sample: Sample,
  scores: readonly number[],
): ScaleCheck | null {
  const { scale } = model
  if (scale === null || scaling === undefined) return null
  let sum = 0
  let count = 0
  for (const [row, pd] of sample.pds.entries()) {
    const printed = Math.abs((scale.factor * sample.pdRounding) / (pd * (1 - pd)))
    if (!(pd > 0 && pd < 1) || printed > PD_POINTS_MAX) continue
    sum += scale.offset + scale.factor * Math.log((1 - pd) / pd) - (scores[row] ?? 0)
    count++
  }
  if (count === 0) return null
  return { given: scaling, fitted: fittedBeside(scaling, sample), meanPoints: sum / count }
}

function fittedBeside(given: ScalingSpec, sample: Sample): ScalingSpec | null {
  const fitted = fitScale(sample, new Notes())
  if (fitted === null) return null
  const { pdo, base_score: evenScore } = fitted
  const { base_odds: odds } = given
  return { base_score: evenScore + (pdo / Math.LN2) * Math.log(odds), base_odds: odds, pdo }
}

/** Two points always lie on a line; a third shows whether the relation is linear. */
const SCORES_MIN = 3

/**
 * Fits the scale of a card to the probabilities of a sample: ln((1 - pd) / pd) is linear in the
 * score.
 *
 * Weighted by (pd (1 - pd))^2, since a probability rounded at its n-th decimal tells least about
 * its odds near 0 and 1. The odds of the scale are 1:1 at `base_score`.
 *
 * @param notes receives a fault, or how well the scale fits
 * @returns null after a fault
 */
export function fitScale(
  { scores: all, pds }: Pick<Sample, 'scores' | 'pds'>,
  notes: Notes,
): ScalingSpec | null {
  const points: { score: number; pd: number; logOdds: number; weight: number }[] = []
  for (const [row, pd] of pds.entries()) {
    if (!(pd > 0 && pd < 1)) continue
    const score = all[row] ?? Number.NaN
    points.push({ score, pd, logOdds: Math.log((1 - pd) / pd), weight: (pd * (1 - pd)) ** 2 })
  }
  const scores = new Set(points.map(({ score }) => score)).size
  if (scores < SCORES_MIN) {
    notes.fault(
      'probabilities',
      `"fit" needs applicants of at least ${SCORES_MIN} different scores with a \`pd\` between 0 and 1, ` +
        `and the sample has ${scores}: add them, or choose "none"`,
    )
    return null
  }
  const weight = computeSum(points, (point) => point.weight)
  const meanScore = computeSum(points, (point) => (point.weight / weight) * point.score)
  const meanLogOdds = computeSum(points, (point) => (point.weight / weight) * point.logOdds)
  const spread = computeSum(points, (point) => point.weight * (point.score - meanScore) ** 2)
  const together = computeSum(
    points,
    (point) => point.weight * (point.score - meanScore) * (point.logOdds - meanLogOdds),
  )
  const factor = spread / together
  const scaling = {
    base_score: meanScore - factor * meanLogOdds,
    base_odds: 1,
    pdo: factor * Math.LN2,
  }
  if (!Number.isFinite(scaling.pdo) || !Number.isFinite(scaling.base_score) || scaling.pdo === 0) {
    notes.fault('probabilities', '"fit" fails: `pd` does not change with the score; choose "none"')
    return null
  }
  const largest = points.reduce((most, { score, pd }) => {
    const fitted = 1 / (1 + Math.exp((score - scaling.base_score) / factor))
    return Math.max(most, Math.abs(fitted - pd))
  }, 0)
  notes.conversion(
    'scaling',
    `is fitted to the \`pd\` of ${points.length} applicants: odds of 1:1 at ${scaling.base_score} points, ` +
      `doubled by ${scaling.pdo}; the largest difference from \`pd\` is ${largest}`,
  )
  return scaling
}

function computeSum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0)
}
