import { type Direction, placementsOf, type ScoreCount } from './discrimination.ts'
import { normalTwoSided } from './special-functions.ts'

/** The scores that two models gave the same applicants. */
export interface PairedScores {
  readonly champion: readonly number[]
  readonly challenger: readonly number[]
  readonly isBad: readonly boolean[]
}

/** A difference is challenger less champion. */
export interface PairedComparison {
  readonly n: number
  /** AUC of the challenger. */
  readonly auc: number | null
  readonly aucDifference: number | null
  readonly se: number | null
  readonly z: number | null
  readonly pValue: number | null
}

/**
 * Compares the AUC of two models over the same applicants. `z` and the p-value are null where the
 * standard error of the difference is 0 or undefined.
 *
 * @source E. DeLong, D. DeLong, D. Clarke-Pearson, Biometrics 44 (1988)
 */
export function comparePaired(
  { champion, challenger, isBad }: PairedScores,
  directions: { readonly champion: Direction; readonly challenger: Direction },
): PairedComparison {
  const n = isBad.length
  const ours = rowPlacements(challenger, isBad, directions.challenger)
  const theirs = rowPlacements(champion, isBad, directions.champion)
  if (ours === null || theirs === null) {
    return { n, auc: null, aucDifference: null, se: null, z: null, pValue: null }
  }
  const aucDifference = ours.auc - theirs.auc
  // Sorted, so that the order of the rows never changes a bit.
  const differences = ours.placements
    .map((value, row) => ({ value: value - (theirs.placements[row] ?? 0), isBad: isBad[row] }))
    .sort((a, b) => a.value - b.value)
  const ofClass = (wanted: boolean) =>
    differences.filter((one) => one.isBad === wanted).map(({ value }) => value)
  const variance = meanVariance(ofClass(true)) + meanVariance(ofClass(false))
  const se = Number.isFinite(variance) ? Math.sqrt(variance) : null
  const z = se === null || se === 0 ? null : aucDifference / se
  const pValue = z === null ? null : normalTwoSided(z)
  return { n, auc: ours.auc, aucDifference, se, z, pValue }
}

function rowPlacements(
  scores: readonly number[],
  isBad: readonly boolean[],
  direction: Direction,
): { readonly auc: number; readonly placements: readonly number[] } | null {
  const counts = scoreCountsOf(scores, isBad)
  const placed = placementsOf(counts, direction)
  if (placed === null) return null
  const places = new Map(counts.map(({ score }, index) => [score, index]))
  const placements = scores.map((score, row) => {
    const place = places.get(score) ?? 0
    return (isBad[row] ? placed.ofBad[place] : placed.ofGood[place]) ?? 0
  })
  return { auc: placed.auc, placements }
}

/** The counts of each distinct score, rising. */
export function scoreCountsOf(scores: readonly number[], isBad: readonly boolean[]): ScoreCount[] {
  const counts = new Map<number, { score: number; good: number; bad: number }>()
  for (const [row, score] of scores.entries()) {
    const count = counts.get(score) ?? { score, good: 0, bad: 0 }
    counts.set(score, count)
    if (isBad[row]) count.bad++
    else count.good++
  }
  return [...counts.values()].sort((a, b) => a.score - b.score)
}

function meanVariance(values: readonly number[]): number {
  const n = values.length
  if (n < 2) return Number.NaN
  const mean = values.reduce((sum, value) => sum + value, 0) / n
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1) / n
}
