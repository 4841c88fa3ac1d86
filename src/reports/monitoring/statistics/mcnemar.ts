import { chiSquaredTail } from '../../performance/statistics/special-functions.ts'

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
