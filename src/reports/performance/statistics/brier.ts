import type { ScoreCount } from './discrimination.ts'
import { inTurns } from './in-turns.ts'
import { normalTwoSided } from './special-functions.ts'

/** The test of Spiegelhalter: far from 0, the probabilities do not fit the outcomes. */
interface Spiegelhalter {
  readonly z: number
  /** Two-sided. */
  readonly pValue: number
}

export interface ProbabilityFit {
  /** Mean squared difference of probability and outcome. */
  readonly brier: number | null
  /** Null where the probabilities leave nothing to chance. */
  readonly spiegelhalter: Spiegelhalter | null
}

/**
 * The Brier score, and whether it is what the probabilities themselves promise.
 *
 * @param counts each with the probability of its score, or NaN
 * @returns nulls where a probability is unknown, and without applicants
 * @source D. Spiegelhalter, Statistics in Medicine 5 (1986)
 */
export async function computeProbabilityFit(
  counts: readonly (ScoreCount & { readonly pd: number })[],
): Promise<ProbabilityFit> {
  let [squares, n, excess, variance] = [0, 0, 0, 0]
  await inTurns(counts, ({ good, bad, pd }) => {
    squares += good * pd ** 2 + bad * (1 - pd) ** 2
    n += good + bad
    const weight = 1 - 2 * pd
    excess += (bad * (1 - pd) - good * pd) * weight
    variance += (good + bad) * weight ** 2 * pd * (1 - pd)
  })
  if (n === 0 || Number.isNaN(squares)) return { brier: null, spiegelhalter: null }
  const brier = squares / n
  if (!(variance > 0)) return { brier, spiegelhalter: null }
  const z = excess / Math.sqrt(variance)
  return { brier, spiegelhalter: { z, pValue: normalTwoSided(z) } }
}
