import type { Direction } from './discrimination.ts'
import { inTurns } from './in-turns.ts'

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
 * Returns what the probabilities alone promise of applicants without an outcome. It assumes that
 * they are right: it shows a change of the applicants, and never one of the relation to the
 * outcome.
 *
 * The AUC is the expected share of ordered pairs of two different applicants, ties by half. It
 * gives way to the event loop.
 *
 * @param counts distinct scores, rising
 * @source J. Nichyporuk et al., NannyML: confidence-based performance estimation, without the pairs
 *   of an applicant with themselves
 */
export async function expectedPerformance(
  counts: readonly ExpectedCount[],
  direction: Direction,
): Promise<ExpectedPerformance> {
  let [n, bads, goods, selves, ordered, goodBelow] = [0, 0, 0, 0, 0, 0]
  await inTurns(direction === 1 ? counts.toReversed() : counts, (count) => {
    const bad = count.n * count.pd
    const good = count.n * (1 - count.pd)
    const self = count.n * count.pd * (1 - count.pd)
    ordered += bad * goodBelow + (bad * good - self) / 2
    goodBelow += good
    n += count.n
    bads += bad
    goods += good
    selves += self
  })
  const pairs = bads * goods - selves
  return { n, expectedBads: bads, auc: n > 1 && pairs > 0 ? ordered / pairs : null }
}
