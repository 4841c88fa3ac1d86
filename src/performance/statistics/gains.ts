import type { Direction, ScoreCount } from './discrimination.ts'

/** Applicants of a range of scores, and with all better ones. */
export interface GainsBand {
  readonly minScore: number
  /** Inclusive, as `minScore`. */
  readonly maxScore: number
  readonly count: number
  readonly good: number
  readonly bad: number
  readonly cumCount: number
  readonly cumGood: number
  readonly cumBad: number
  readonly share: number
  readonly badRate: number
  readonly cumBadRate: number
  /** Share of all, if this band and the better ones were approved. */
  readonly approvalRate: number
  /** The bad rate over that of all; null without a bad applicant. */
  readonly lift: number | null
}

/**
 * The gains table: bands of about equal counts from the best scores to the worst. Applicants with
 * the same score are in one band, so that there can be fewer bands.
 *
 * @param counts distinct scores in any order
 */
export function gainsOf(
  counts: readonly ScoreCount[],
  direction: Direction,
  bandsMax = 10,
): GainsBand[] {
  const best = [...counts].sort((a, b) => direction * (b.score - a.score))
  const total = best.reduce((sum, { good, bad }) => sum + good + bad, 0)
  const totalBad = best.reduce((sum, { bad }) => sum + bad, 0)
  const bands: GainsBand[] = []
  let [cumGood, cumBad, good, bad] = [0, 0, 0, 0]
  let scores: number[] = []
  for (const [index, count] of best.entries()) {
    good += count.good
    bad += count.bad
    scores.push(count.score)
    const cumCount = cumGood + cumBad + good + bad
    const isFull = cumCount * bandsMax >= total * (bands.length + 1)
    if (!isFull && index < best.length - 1) continue
    cumGood += good
    cumBad += bad
    const badRate = bad / (good + bad)
    const [first = 0] = scores
    const last = scores.at(-1) ?? 0
    bands.push({
      minScore: Math.min(first, last),
      maxScore: Math.max(first, last),
      count: good + bad,
      good,
      bad,
      cumCount,
      cumGood,
      cumBad,
      share: (good + bad) / total,
      badRate,
      cumBadRate: cumBad / cumCount,
      approvalRate: cumCount / total,
      lift: totalBad === 0 ? null : badRate / (totalBad / total),
    })
    ;[good, bad] = [0, 0]
    scores = []
  }
  return bands
}
