import { TurnTaker } from '../../../platform/turn-taker.ts'
import { computePlacements, type Direction, type ScoreCount } from './discrimination.ts'
import { inTurns, sortedInTurns } from './in-turns.ts'
import { NORMAL_975, normalTwoSided } from './special-functions.ts'

/** The scores that two models gave the same applicants. */
interface PairedScores {
  readonly champion: readonly number[]
  readonly challenger: readonly number[]
  readonly isBad: readonly boolean[]
}

/** A difference is challenger less champion. */
export interface PairedComparison {
  readonly n: number
  readonly good: number
  readonly bad: number
  /** AUC of the challenger. */
  readonly auc: number | null
  readonly championAuc: number | null
  readonly aucDifference: number | null
  /** Interval of 95 percent; null where the standard error is 0 or undefined. */
  readonly aucDifferenceLow: number | null
  readonly aucDifferenceHigh: number | null
  readonly se: number | null
  readonly z: number | null
  readonly pValue: number | null
}

const NONE = {
  auc: null,
  championAuc: null,
  aucDifference: null,
  aucDifferenceLow: null,
  aucDifferenceHigh: null,
  se: null,
  z: null,
  pValue: null,
}

/** The comparison over nobody. */
export const NOBODY_PAIRED: PairedComparison = { n: 0, good: 0, bad: 0, ...NONE }

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
  const bad = isBad.filter(Boolean).length
  const counts = { n, good: n - bad, bad }
  const ours = await rowPlacements(challenger, isBad, directions.challenger)
  const theirs = await rowPlacements(champion, isBad, directions.champion)
  if (ours === null || theirs === null) return { ...counts, ...NONE }
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
    (await meanVariance(await sortedInTurns(new Float64Array(ofBad)))) +
    (await meanVariance(await sortedInTurns(new Float64Array(ofGood))))
  const se = Number.isFinite(variance) ? Math.sqrt(variance) : null
  const z = se === null || se === 0 ? null : aucDifference / se
  const pValue = z === null ? null : normalTwoSided(z)
  const half = se === null || se === 0 ? null : NORMAL_975 * se
  return {
    ...counts,
    auc: ours.auc,
    championAuc: theirs.auc,
    aucDifference,
    aucDifferenceLow: half === null ? null : aucDifference - half,
    aucDifferenceHigh: half === null ? null : aucDifference + half,
    se,
    z,
    pValue,
  }
}

async function rowPlacements(
  scores: readonly number[],
  isBad: readonly boolean[],
  direction: Direction,
): Promise<{ readonly auc: number; readonly placements: Float64Array } | null> {
  const counts = await countScores(scores, isBad)
  const placed = await computePlacements(counts, direction)
  if (placed === null) return null
  const turns = new TurnTaker()
  const placements = new Float64Array(scores.length)
  for (const [row, score] of scores.entries()) {
    if (row % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
    const place = findPlace(counts, score)
    placements[row] = (isBad[row] ? placed.ofBad[place] : placed.ofGood[place]) ?? 0
  }
  return { auc: placed.auc, placements }
}

/** The counts of each distinct score, rising. It gives way to the event loop. */
export async function countScores(
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
    const count = counts[findPlace(counts, score)]
    if (count === undefined) continue
    if (isBad[row]) count.bad++
    else count.good++
  }
  return counts
}

/** The place of a score that is there: halving is quicker than a map of 100,000 fractions. */
function findPlace(sorted: readonly { readonly score: number }[], score: number): number {
  let [from, to] = [0, sorted.length - 1]
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((sorted[middle]?.score ?? 0) < score) from = middle + 1
    else to = middle
  }
  return from
}

async function meanVariance(values: Float64Array): Promise<number> {
  const n = values.length
  if (n < 2) return Number.NaN
  let [sum, squares] = [0, 0]
  await inTurns(values, (value) => {
    sum += value
  })
  const mean = sum / n
  await inTurns(values, (value) => {
    squares += (value - mean) ** 2
  })
  return squares / (n - 1) / n
}
