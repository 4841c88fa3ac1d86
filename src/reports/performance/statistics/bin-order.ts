import type { Direction } from './discrimination.ts'
import { normalTwoSided } from './special-functions.ts'

/** Outcomes of the applicants with these points. */
export interface PointsGroup {
  readonly points: number
  readonly n: number
  readonly bad: number
}

/** Applicants with better points of whom more were bad than of those with the next worse points. */
interface Inversion {
  readonly better: PointsGroup
  readonly worse: PointsGroup
  /** Two-sided, that the two have one bad rate. */
  readonly pValue: number
}

/** True if the points of a feature are in the order of what became of its applicants. */
export interface BinOrder {
  /**
   * Rank correlation of points, signed so that more is better, and bad rate: -1 where each better
   * bin has the lower rate. Null where points or rates are all the same.
   */
  readonly spearman: number | null
  /** From the best points on; those that chance explains are left out. */
  readonly inversions: readonly Inversion[]
}

const CHANCE_MAX = 0.05

/**
 * Compares the order of points with that of bad rates. Bins with the same points are one group in
 * `inversions`, since the card does not order them.
 *
 * @param bins of one feature, each with an applicant
 * @source C. Spearman (1904), with mean ranks for ties; the test of two proportions with their
 *   common rate
 */
export function findOrder(bins: readonly PointsGroup[], direction: Direction): BinOrder {
  const spearman = correlation(
    computeRanks(bins.map(({ points }) => direction * points)),
    computeRanks(bins.map(({ n, bad }) => bad / n)),
  )
  const groups = new Map<number, { points: number; n: number; bad: number }>()
  for (const { points, n, bad } of bins) {
    // Both zeros are one.
    const group = groups.get(points + 0) ?? { points: points + 0, n: 0, bad: 0 }
    groups.set(group.points, group)
    group.n += n
    group.bad += bad
  }
  const sorted = [...groups.values()].sort((a, b) => direction * (b.points - a.points))
  const inversions = sorted.flatMap((better, place) => {
    const worse = sorted[place + 1]
    if (worse === undefined || better.bad * worse.n <= worse.bad * better.n) return []
    const pValue = sameRate(better, worse)
    return pValue < CHANCE_MAX ? [{ better, worse, pValue }] : []
  })
  return { spearman, inversions }
}

/** Two-sided probability that two groups with different rates have one. */
function sameRate(one: PointsGroup, other: PointsGroup): number {
  const rate = (one.bad + other.bad) / (one.n + other.n)
  const variance = rate * (1 - rate) * (1 / one.n + 1 / other.n)
  return normalTwoSided((one.bad / one.n - other.bad / other.n) / Math.sqrt(variance))
}

/** Ranks from 1 on; equal values have the mean of their ranks. */
function computeRanks(values: readonly number[]): number[] {
  const order = values.map((_, place) => place).sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0))
  const ranks = new Array<number>(values.length).fill(0)
  for (let start = 0; start < order.length; ) {
    let end = start + 1
    while (end < order.length && values[order[end] ?? 0] === values[order[start] ?? 0]) end++
    for (const place of order.slice(start, end)) ranks[place] = (start + 1 + end) / 2
    start = end
  }
  return ranks
}

/** Pearson's correlation; null where one of the two does not vary. */
function correlation(xs: readonly number[], ys: readonly number[]): number | null {
  const mean = (xs.length + 1) / 2
  let [xx, yy, xy] = [0, 0, 0]
  for (const [place, x] of xs.entries()) {
    const [dx, dy] = [x - mean, (ys[place] ?? 0) - mean]
    xx += dx * dx
    yy += dy * dy
    xy += dx * dy
  }
  return xx === 0 || yy === 0 ? null : xy / Math.sqrt(xx * yy)
}
