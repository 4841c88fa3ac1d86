import type { ScoreCount } from './discrimination.ts'
import { inTurns } from './in-turns.ts'
import { betaCdf, betaQuantile, chiSquaredTail, normalTwoSided } from './special-functions.ts'

/** Applicants of a group with their probabilities. */
interface CalibrationGroup {
  readonly n: number
  readonly bad: number
  /** Null where an applicant has no probability. */
  readonly meanPd: number | null
}

/** True if the probabilities of a group fit what became of it. */
export interface Calibration {
  readonly n: number
  readonly bad: number
  readonly meanPd: number | null
  readonly badRate: number
  /** Jeffreys interval of 95 percent. */
  readonly badRateLow: number
  readonly badRateHigh: number
  /** One-sided, as the next: small where the probability is too low. */
  readonly jeffreysP: number | null
  readonly binomialP: number | null
  readonly z: number | null
  /** By the Jeffreys test: red up to 0.01, amber up to 0.05. */
  readonly light: 'green' | 'amber' | 'red' | null
}

const RED_MAX = 0.01
const AMBER_MAX = 0.05

/**
 * The Jeffreys interval of a bad rate, 95 percent.
 *
 * @source L. Brown, T. Cai, A. DasGupta, Statistical Science 16 (2001), without its exceptions at
 *   0 and n
 */
export function jeffreysInterval(bad: number, n: number): { low: number; high: number } {
  const [a, b] = [bad + 0.5, n - bad + 0.5]
  return { low: betaQuantile(0.025, a, b), high: betaQuantile(0.975, a, b) }
}

/**
 * Tests the mean probability of a group against its bad applicants.
 *
 * @param group with at least one applicant
 * @source European Central Bank, Instructions for reporting the validation results of internal
 *   models (2019), 2.5.3.1: the Jeffreys test
 */
export function computeCalibration({ n, bad, meanPd }: CalibrationGroup): Calibration {
  const interval = jeffreysInterval(bad, n)
  const jeffreysP = meanPd === null ? null : betaCdf(meanPd, bad + 0.5, n - bad + 0.5)
  return {
    n,
    bad,
    meanPd,
    badRate: bad / n,
    badRateLow: interval.low,
    badRateHigh: interval.high,
    jeffreysP,
    binomialP: meanPd === null ? null : atLeast(bad, n, meanPd),
    z: meanPd === null ? null : computeZ(bad, n * meanPd, n * meanPd * (1 - meanPd)),
    light: jeffreysP === null ? null : decideLight(jeffreysP),
  }
}

/** Probability of so many bad applicants or more. */
function atLeast(bad: number, n: number, pd: number): number {
  return bad === 0 ? 1 : betaCdf(pd, bad, n - bad + 1)
}

/** Distance of a count from its expectation in standard deviations; null without a deviation. */
export function computeZ(bad: number, expected: number, variance: number): number | null {
  return variance > 0 ? (bad - expected) / Math.sqrt(variance) : null
}

function decideLight(p: number): 'green' | 'amber' | 'red' {
  if (p <= RED_MAX) return 'red'
  return p <= AMBER_MAX ? 'amber' : 'green'
}

export interface HosmerLemeshow {
  readonly chi2: number
  readonly df: number
  readonly pValue: number
}

/**
 * The Hosmer-Lemeshow test of fixed probabilities: a degree of freedom for each group.
 *
 * @returns null without groups, and where a group's probability is unknown, 0 or 1
 */
export function hosmerLemeshow(groups: readonly CalibrationGroup[]): HosmerLemeshow | null {
  let chi2 = 0
  for (const { n, bad, meanPd } of groups) {
    if (meanPd === null) return null
    const variance = n * meanPd * (1 - meanPd)
    if (variance <= 0) return null
    chi2 += (bad - n * meanPd) ** 2 / variance
  }
  const df = groups.length
  return df === 0 ? null : { chi2, df, pValue: chiSquaredTail(chi2, df) }
}

/**
 * Weight of evidence of a bin, from the outcomes.
 *
 * @param good,bad of the bin
 * @param goods,bads of all
 * @returns ln(((good + 0.5) / goods) / ((bad + 0.5) / bads)); null with one class only
 */
export function weightOfEvidence(
  good: number,
  bad: number,
  goods: number,
  bads: number,
): number | null {
  if (goods === 0 || bads === 0) return null
  return Math.log((good + 0.5) / goods / ((bad + 0.5) / bads))
}

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
