/**
 * Population stability index of two distributions over the same cells, in natural logarithms:
 * the sum over cells of (a - e) ln(a / e), with the shares a and e. A cell that is empty on one
 * side counts as half an applicant there; one that is empty on both sides does not count.
 *
 * @returns null where a side has no applicant
 * @source E. M. Lewis, An Introduction to Credit Scoring (1994)
 */
export function stabilityIndex(
  expected: readonly number[],
  actual: readonly number[],
): number | null {
  const totalOf = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0)
  const [expectedTotal, actualTotal] = [totalOf(expected), totalOf(actual)]
  if (expectedTotal === 0 || actualTotal === 0) return null
  let index = 0
  for (const [cell, e] of expected.entries()) {
    const a = actual[cell] ?? 0
    if (e === 0 && a === 0) continue
    const [shareE, shareA] = [(e || ZERO_FILL) / expectedTotal, (a || ZERO_FILL) / actualTotal]
    index += (shareA - shareE) * Math.log(shareA / shareE)
  }
  return index
}

/** Applicants that stand for none, so that a logarithm exists. */
export const ZERO_FILL = 0.5

/** McNemar's test on discordant pairs, without a correction; null without such pairs. */
export function mcNemar(swapIn: number, swapOut: number): { chi2: number; p_value: number } | null {
  const pairs = swapIn + swapOut
  if (pairs === 0) return null
  const chi2 = (swapIn - swapOut) ** 2 / pairs
  return { chi2, p_value: complementaryError(Math.sqrt(chi2 / 2)) }
}

const SERIES_MAX = 2

/**
 * The complementary error function of a number that is 0 or more, to 1e-13 of itself: by the series
 * of erf near 0, by the continued fraction beyond.
 *
 * @source NIST Digital Library of Mathematical Functions, 7.6.2 and 7.9.2
 */
function complementaryError(x: number): number {
  const gauss = Math.exp(-x * x) / Math.sqrt(Math.PI)
  if (x < SERIES_MAX) {
    let term = 2 * x
    let sum = term
    for (let n = 1; Math.abs(term) > Number.EPSILON * sum; n++) {
      term *= (2 * x * x) / (2 * n + 1)
      sum += term
    }
    return 1 - gauss * sum
  }
  let fraction = x
  for (let n = 200; n > 0; n--) fraction = x + n / 2 / fraction
  return gauss / fraction
}
