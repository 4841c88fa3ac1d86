import { chiSquaredTail } from '../../performance/statistics/special-functions.ts'

/**
 * Which of several tests show more than chance: among those that are named, an expected share of at
 * most `rate` is there by chance alone.
 *
 * @param pValues probability of each result by chance, 0..1
 * @param rate share of false discoveries, 0..1
 * @source Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, Journal of the Royal
 *   Statistical Society B 57(1), 1995
 */
export function discoveries(pValues: readonly number[], rate: number): boolean[] {
  const rising = [...pValues.keys()].sort((a, b) => (pValues[a] ?? 1) - (pValues[b] ?? 1))
  let last = -1
  for (const [rank, test] of rising.entries()) {
    if ((pValues[test] ?? 1) <= ((rank + 1) / pValues.length) * rate) last = rank
  }
  const found = new Set(rising.slice(0, last + 1))
  return [...pValues.keys()].map((test) => found.has(test))
}

interface McNemar {
  readonly chi2: number
  readonly pValue: number
}

/**
 * McNemar's test without correction, of the pairs on which two decisions differ.
 *
 * @param left pairs that only the first approves
 * @param right pairs that only the second approves
 * @returns null without such pairs
 * @source Q. McNemar, Psychometrika 12(2), 1947
 */
export function mcNemar(left: number, right: number): McNemar | null {
  if (left + right === 0) return null
  const chi2 = (left - right) ** 2 / (left + right)
  return { chi2, pValue: chiSquaredTail(chi2, 1) }
}
