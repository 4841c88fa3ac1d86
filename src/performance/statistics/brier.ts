import type { ScoreCount } from './discrimination.ts'

/**
 * Mean squared difference of probability and outcome.
 *
 * @param counts each with the probability of its score, or NaN
 * @returns null where a probability is unknown, and without applicants
 */
export function brierOf(counts: readonly (ScoreCount & { readonly pd: number })[]): number | null {
  let [sum, n] = [0, 0]
  for (const { good, bad, pd } of counts) {
    sum += good * pd ** 2 + bad * (1 - pd) ** 2
    n += good + bad
  }
  return n === 0 || Number.isNaN(sum) ? null : sum / n
}
