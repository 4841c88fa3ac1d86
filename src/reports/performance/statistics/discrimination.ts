import { inTurns } from './in-turns.ts'
import { NORMAL_975, normalAbove } from './special-functions.ts'

/** Number of good and bad applicants have a score. */
export interface ScoreCount {
  readonly score: number
  readonly good: number
  readonly bad: number
}

/** 1: a higher score is a lower risk; -1: the opposite. */
export type Direction = 1 | -1

/** Discrimination: how well scores tell good from bad. A figure without a meaning is null. */
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
 * It gives way to the event loop.
 *
 * The interval is that of 95 percent on the logit scale, which keeps it within 0 and 1; it is null
 * where the standard error is 0 or undefined.
 *
 * @param counts distinct scores, rising
 * @returns nulls with one class only
 * @source E. DeLong, D. DeLong, D. Clarke-Pearson, Biometrics 44 (1988), with midranks for ties
 */
export async function computeDiscrimination(
  counts: readonly ScoreCount[],
  direction: Direction,
): Promise<Discrimination> {
  const placed = await computePlacements(counts, direction)
  if (placed === null) return NONE
  const { auc, ofBad, ofGood, bads, goods } = placed
  let [badSquares, goodSquares] = [0, 0]
  await inTurns(counts, ({ good, bad }, index) => {
    badSquares += bad * ((ofBad[index] ?? 0) - auc) ** 2
    goodSquares += good * ((ofGood[index] ?? 0) - auc) ** 2
  })
  const variance = meanVariance(badSquares, bads) + meanVariance(goodSquares, goods)
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
    ...(await kolmogorovSmirnov(counts, bads, goods)),
  }
}

/** Shares of the other class on the right side of each distinct score. */
interface Placements {
  readonly auc: number
  readonly goods: number
  readonly bads: number
  /** For a bad applicant with this score: the share of good ones that are safer. */
  readonly ofBad: Float64Array
  /** For a good applicant with this score: the share of bad ones that are riskier. */
  readonly ofGood: Float64Array
}

/**
 * Gives way to the event loop.
 *
 * @param counts distinct scores, rising
 * @returns null with one class only
 */
export async function computePlacements(
  counts: readonly ScoreCount[],
  direction: Direction,
): Promise<Placements | null> {
  let [goods, bads] = [0, 0]
  await inTurns(counts, ({ good, bad }) => {
    goods += good
    bads += bad
  })
  if (goods === 0 || bads === 0) return null
  const ofBad = new Float64Array(counts.length)
  const ofGood = new Float64Array(counts.length)
  let [goodBelow, badBelow, pairs] = [0, 0, 0]
  await inTurns(counts, ({ good, bad }, index) => {
    const safer = direction === 1 ? goods - goodBelow - good + good / 2 : goodBelow + good / 2
    const riskier = direction === 1 ? badBelow + bad / 2 : bads - badBelow - bad + bad / 2
    ofBad[index] = safer / goods
    ofGood[index] = riskier / bads
    pairs += bad * safer
    goodBelow += good
    badBelow += bad
  })
  return { auc: pairs / (goods * bads), goods, bads, ofBad, ofGood }
}

/** Variance of a mean of n values, from their squared distances to it; NaN for a single value. */
function meanVariance(squares: number, n: number): number {
  return n < 2 ? Number.NaN : squares / (n - 1) / n
}

function logitInterval(auc: number, se: number | null): [number | null, number | null] {
  if (se === null || se === 0 || auc <= 0 || auc >= 1) return [null, null]
  const logit = Math.log(auc / (1 - auc))
  const half = (NORMAL_975 * se) / (auc * (1 - auc))
  return [1 / (1 + Math.exp(half - logit)), 1 / (1 + Math.exp(-half - logit))]
}

/** Compared only at distinct scores: within a tie there is no order. */
async function kolmogorovSmirnov(counts: readonly ScoreCount[], bads: number, goods: number) {
  let [goodSoFar, badSoFar, ks] = [0, 0, -1]
  let ksScore: number | null = null
  await inTurns(counts, ({ score, good, bad }) => {
    goodSoFar += good
    badSoFar += bad
    const distance = Math.abs(badSoFar / bads - goodSoFar / goods)
    if (distance <= ks) return
    ks = distance
    ksScore = score
  })
  return { ks, ksScore }
}

/** The AUC of now against that of the development sample. */
export interface DevelopmentCheck {
  readonly auc: number
  /** Distance of the AUC of now below it, in standard errors of now. */
  readonly s: number | null
  /** One-sided: small where the card has lost power. */
  readonly pValue: number | null
}

/**
 * Tests whether the AUC is below that of the development sample, which is taken as certain.
 *
 * @param developmentAuc 0 to 1
 * @returns nulls where the standard error of now is 0 or undefined
 * @source European Central Bank, Instructions for reporting the validation results of internal
 *   models (2019), 2.5.4: discriminatory power
 */
export function readDevelopmentCheck(
  { auc, aucSe }: Discrimination,
  developmentAuc: number,
): DevelopmentCheck {
  if (auc === null || aucSe === null || aucSe === 0) {
    return { auc: developmentAuc, s: null, pValue: null }
  }
  const s = (developmentAuc - auc) / aucSe
  return { auc: developmentAuc, s, pValue: normalAbove(s) }
}
