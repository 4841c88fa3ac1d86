import type { ScalingSpec } from '../../../engine/index.ts'
import type { Sample } from '../sample.ts'
import type { Notes } from './notes.ts'

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
