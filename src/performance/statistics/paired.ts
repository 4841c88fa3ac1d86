import { sortedInTurns } from '../../monitoring/sorted-in-turns.ts'
import { TurnTaker } from '../../score-log/reading/turn-taker.ts'
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

/** Rows between two looks at the clock. */
const ROWS_A_LOOK = 200

/**
 * Compares the AUC of two models over the same applicants, and gives way to the event loop. `z` and
 * the p-value are null where the standard error of the difference is 0 or undefined.
 *
 * @source E. DeLong, D. DeLong, D. Clarke-Pearson, Biometrics 44 (1988)
 */
export async function comparePaired(
  { champion, challenger, isBad }: PairedScores,
  directions: { readonly champion: Direction; readonly challenger: Direction },
): Promise<PairedComparison> {
  const n = isBad.length
  const ours = await rowPlacements(challenger, isBad, directions.challenger)
  const theirs = await rowPlacements(champion, isBad, directions.champion)
  if (ours === null || theirs === null) {
    return { n, auc: null, aucDifference: null, se: null, z: null, pValue: null }
  }
  const aucDifference = ours.auc - theirs.auc
  const turns = new TurnTaker()
  const ofBad: number[] = []
  const ofGood: number[] = []
  for (let row = 0; row < n; row++) {
    if (row % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
    const difference = (ours.placements[row] ?? 0) - (theirs.placements[row] ?? 0)
    if (isBad[row]) ofBad.push(difference)
    else ofGood.push(difference)
  }
  // Sorted, so that the order of the rows never changes a bit.
  const variance =
    meanVariance(await sortedInTurns(new Float64Array(ofBad))) +
    meanVariance(await sortedInTurns(new Float64Array(ofGood)))
  const se = Number.isFinite(variance) ? Math.sqrt(variance) : null
  const z = se === null || se === 0 ? null : aucDifference / se
  const pValue = z === null ? null : normalTwoSided(z)
  return { n, auc: ours.auc, aucDifference, se, z, pValue }
}

async function rowPlacements(
  scores: readonly number[],
  isBad: readonly boolean[],
  direction: Direction,
): Promise<{ readonly auc: number; readonly placements: Float64Array } | null> {
  const counts = await scoreCountsOf(scores, isBad)
  const placed = placementsOf(counts, direction)
  if (placed === null) return null
  const turns = new TurnTaker()
  const placements = new Float64Array(scores.length)
  for (const [row, score] of scores.entries()) {
    if (row % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
    const place = placeOf(counts, score)
    placements[row] = (isBad[row] ? placed.ofBad[place] : placed.ofGood[place]) ?? 0
  }
  return { auc: placed.auc, placements }
}

/** The counts of each distinct score, rising. It gives way to the event loop. */
export async function scoreCountsOf(
  scores: readonly number[],
  isBad: readonly boolean[],
): Promise<ScoreCount[]> {
  const turns = new TurnTaker()
  const sorted = await sortedInTurns(new Float64Array(scores))
  const counts: { score: number; good: number; bad: number }[] = []
  for (const [index, score] of sorted.entries()) {
    if (index % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
    if (score !== counts.at(-1)?.score) counts.push({ score, good: 0, bad: 0 })
  }
  for (const [row, score] of scores.entries()) {
    if (row % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
    const count = counts[placeOf(counts, score)]
    if (count === undefined) continue
    if (isBad[row]) count.bad++
    else count.good++
  }
  return counts
}

/** The place of a score that is there: halving is quicker than a map of 100,000 fractions. */
function placeOf(sorted: readonly { readonly score: number }[], score: number): number {
  let [from, to] = [0, sorted.length - 1]
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((sorted[middle]?.score ?? 0) < score) from = middle + 1
    else to = middle
  }
  return from
}

/** The values of distinct scores, rising by score. It gives way to the event loop. */
export async function sortedByScore<T>(byScore: ReadonlyMap<number, T>): Promise<T[]> {
  const turns = new TurnTaker()
  const sorted: T[] = []
  const scores = await sortedInTurns(Float64Array.from(byScore.keys()))
  for (let index = 0; index < scores.length; index++) {
    if (index % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
    const found = byScore.get(scores[index] ?? Number.NaN)
    if (found !== undefined) sorted.push(found)
  }
  return sorted
}

function meanVariance(values: Float64Array): number {
  const n = values.length
  if (n < 2) return Number.NaN
  const mean = values.reduce((sum, value) => sum + value, 0) / n
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1) / n
}
