import type { Schemas } from '../../api/types.ts'

type Gains = readonly Schemas['GainsBand'][]

export interface CurvePoint {
  readonly cutoff: number
  readonly approvalRate: number
  readonly expected: number | null
  readonly observed: number | null
  readonly low: number | null
  readonly high: number | null
}

/** Normal quantile of intervals of 95 percent. */
const Z = 1.959964

/**
 * Approvals and bad rates along the cut-offs, from the fewest approvals to the most. Of cut-offs
 * that approve the same applicants, one is drawn.
 */
export function makeCurve(found: Schemas['Cutoffs'], gains: Gains): readonly CurvePoint[] {
  const known = found.cutoffs.filter(({ approval_rate: rate }) => rate !== null)
  const sorted = known.toSorted((a, b) => (a.approval_rate ?? 0) - (b.approval_rate ?? 0))
  // On a card with a negative pdo, low scores are good.
  const isReversed = (sorted[0]?.cutoff ?? 0) < (sorted.at(-1)?.cutoff ?? 0)
  const drawn = sorted.filter((one, at) => one.approval_rate !== sorted[at + 1]?.approval_rate)
  return drawn.map(({ cutoff, approval_rate: rate, mean_pd_approved: expected }) => {
    const band = gains.findLast(({ min_score: min, max_score: max }) =>
      isReversed ? max <= cutoff : min >= cutoff,
    )
    const end = gains.at(-1)
    const isKnown = isReversed
      ? cutoff <= (end?.max_score ?? cutoff - 1)
      : cutoff >= (end?.min_score ?? cutoff + 1)
    const observed = band === undefined || !isKnown ? UNKNOWN : wilson(band.cum_bad, band.cum_count)
    return { cutoff, approvalRate: rate ?? 0, expected, ...observed }
  })
}

const UNKNOWN = { observed: null, low: null, high: null } as const

/** A share with its interval by Wilson. */
function wilson(bad: number, n: number) {
  if (n === 0) return UNKNOWN
  const share = bad / n
  const scale = 1 + Z ** 2 / n
  const centre = (share + Z ** 2 / (2 * n)) / scale
  const half = (Z * Math.sqrt((share * (1 - share)) / n + Z ** 2 / (4 * n ** 2))) / scale
  return { observed: share, low: Math.max(0, centre - half), high: Math.min(1, centre + half) }
}

/** Returns how many times as many were bad as expected, among those of whom it is known; or null. */
export function calibrationFactor({ calibration }: Schemas['Performance']): number | null {
  const known = calibration.grades.filter(({ mean_pd }) => mean_pd !== null)
  const expected = known.reduce((sum, { n, mean_pd: pd }) => sum + n * (pd ?? 0), 0)
  const bad = known.reduce((sum, grade) => sum + grade.bad, 0)
  return expected === 0 ? null : bad / expected
}

/** The cut-off with the most approvals whose bad rate is at most a limit; null if there is none. */
export function cutoffFor(curve: readonly CurvePoint[], limit: number, factor: number) {
  return (
    curve.findLast(({ expected, observed }) => {
      const rate = observed ?? (expected === null ? null : expected * factor)
      return rate !== null && rate <= limit
    }) ?? null
  )
}

/** Expected bads of applicants with their chance: a sum of draws with their mean probability. */
export function badsBetween(n: number, expected: number) {
  const share = n === 0 ? 0 : Math.min(1, expected / n)
  const half = Z * Math.sqrt(n * share * (1 - share))
  return { low: Math.max(0, expected - half), high: Math.min(n, expected + half) }
}
