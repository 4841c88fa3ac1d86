import { NORMAL_975 } from './special-functions.ts'

/** How many good and bad applicants have a score. */
export interface ScoreCount {
  readonly score: number
  readonly good: number
  readonly bad: number
}

/** 1: a higher score is a lower risk; -1: the opposite. */
export type Direction = 1 | -1

/** How well scores tell good from bad. A figure without a meaning is null. */
export interface Discrimination {
  readonly auc: number | null
  readonly aucSe: number | null
  readonly aucLow: number | null
  readonly aucHigh: number | null
  readonly gini: number | null
  readonly giniLow: number | null
  readonly giniHigh: number | null
  readonly ks: number | null
  /** The score at which the distributions are farthest apart. */
  readonly ksScore: number | null
}

const NONE: Discrimination = {
  auc: null,
  aucSe: null,
  aucLow: null,
  aucHigh: null,
  gini: null,
  giniLow: null,
  giniHigh: null,
  ks: null,
  ksScore: null,
}

/**
 * AUC, Gini and KS from the counts of each distinct score. Nothing is rounded, and ties count half.
 *
 * The interval is that of 95 percent on the logit scale, which keeps it within 0 and 1; it is null
 * where the standard error is 0 or undefined.
 *
 * @param counts distinct scores in any order
 * @returns nulls with one class only
 * @source E. DeLong, D. DeLong, D. Clarke-Pearson, Biometrics 44 (1988), with midranks for ties
 */
export function discriminationOf(
  counts: readonly ScoreCount[],
  direction: Direction,
): Discrimination {
  const sorted = [...counts].sort((a, b) => a.score - b.score)
  const placed = placementsOf(sorted, direction)
  if (placed === null) return NONE
  const { auc, ofBad, ofGood } = placed
  const bad = sorted.map((count) => count.bad)
  const good = sorted.map((count) => count.good)
  const variance = meanVariance(ofBad, bad, auc) + meanVariance(ofGood, good, auc)
  const se = Number.isFinite(variance) ? Math.sqrt(variance) : null
  const [aucLow, aucHigh] = logitInterval(auc, se)
  return {
    auc,
    aucSe: se,
    aucLow,
    aucHigh,
    gini: 2 * auc - 1,
    giniLow: aucLow === null ? null : 2 * aucLow - 1,
    giniHigh: aucHigh === null ? null : 2 * aucHigh - 1,
    ...kolmogorovSmirnov(sorted),
  }
}

/** Shares of the other class on the right side of each distinct score. */
export interface Placements {
  readonly auc: number
  /** For a bad applicant with this score: the share of good ones that are safer. */
  readonly ofBad: readonly number[]
  /** For a good applicant with this score: the share of bad ones that are riskier. */
  readonly ofGood: readonly number[]
}

/**
 * @param sorted by score, rising
 * @returns null with one class only
 */
export function placementsOf(
  sorted: readonly ScoreCount[],
  direction: Direction,
): Placements | null {
  let goods = 0
  let bads = 0
  for (const { good, bad } of sorted) {
    goods += good
    bads += bad
  }
  if (goods === 0 || bads === 0) return null
  const ofBad: number[] = []
  const ofGood: number[] = []
  let [goodBelow, badBelow, pairs] = [0, 0, 0]
  for (const { good, bad } of sorted) {
    const safer = direction === 1 ? goods - goodBelow - good + good / 2 : goodBelow + good / 2
    const riskier = direction === 1 ? badBelow + bad / 2 : bads - badBelow - bad + bad / 2
    ofBad.push(safer / goods)
    ofGood.push(riskier / bads)
    pairs += bad * safer
    goodBelow += good
    badBelow += bad
  }
  return { auc: pairs / (goods * bads), ofBad, ofGood }
}

/** Variance of a mean, from values with their counts; NaN for a single value. */
function meanVariance(values: readonly number[], counts: readonly number[], mean: number): number {
  let squares = 0
  let n = 0
  for (const [index, value] of values.entries()) {
    const count = counts[index] ?? 0
    squares += count * (value - mean) ** 2
    n += count
  }
  return n < 2 ? Number.NaN : squares / (n - 1) / n
}

function logitInterval(auc: number, se: number | null): [number | null, number | null] {
  if (se === null || se === 0 || auc <= 0 || auc >= 1) return [null, null]
  const logit = Math.log(auc / (1 - auc))
  const half = (NORMAL_975 * se) / (auc * (1 - auc))
  return [1 / (1 + Math.exp(half - logit)), 1 / (1 + Math.exp(-half - logit))]
}

/** Compared only at distinct scores: within a tie there is no order. */
function kolmogorovSmirnov(sorted: readonly ScoreCount[]) {
  const goods = sorted.reduce((sum, { good }) => sum + good, 0)
  const bads = sorted.reduce((sum, { bad }) => sum + bad, 0)
  let [goodSoFar, badSoFar, ks] = [0, 0, -1]
  let ksScore: number | null = null
  for (const { score, good, bad } of sorted) {
    goodSoFar += good
    badSoFar += bad
    const distance = Math.abs(badSoFar / bads - goodSoFar / goods)
    if (distance <= ks) continue
    ks = distance
    ksScore = score
  }
  return { ks, ksScore }
}
