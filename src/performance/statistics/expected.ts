import type { Direction } from './discrimination.ts'

/** Applicants with one score, whose outcome is unknown. */
export interface ExpectedCount {
  readonly score: number
  readonly n: number
  /** The probability that belongs to the score. */
  readonly pd: number
}

export interface ExpectedPerformance {
  readonly n: number
  readonly expectedBads: number
  /** Null where there is nothing to compare. */
  readonly auc: number | null
}

/**
 * What the probabilities alone promise of applicants without an outcome. It assumes that they are
 * right: it shows a change of the applicants, and never one of the relation to the outcome.
 *
 * The AUC is the expected share of ordered pairs of two different applicants, ties by half.
 *
 * @source J. Nichyporuk et al., NannyML: confidence-based performance estimation, without the pairs
 *   of an applicant with themselves
 */
export function expectedPerformance(
  counts: readonly ExpectedCount[],
  direction: Direction,
): ExpectedPerformance {
  const riskRises = [...counts].sort((a, b) => direction * (b.score - a.score))
  let [n, bads, goods, selves, ordered, goodBelow] = [0, 0, 0, 0, 0, 0]
  for (const count of riskRises) {
    const bad = count.n * count.pd
    const good = count.n * (1 - count.pd)
    const self = count.n * count.pd * (1 - count.pd)
    ordered += bad * goodBelow + (bad * good - self) / 2
    goodBelow += good
    n += count.n
    bads += bad
    goods += good
    selves += self
  }
  const pairs = bads * goods - selves
  return { n, expectedBads: bads, auc: n > 1 && pairs > 0 ? ordered / pairs : null }
}
