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
