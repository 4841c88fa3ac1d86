import { jeffreysInterval } from './calibration.ts'
import type { Direction, ScoreCount } from './discrimination.ts'
import { inTurns } from './in-turns.ts'

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
  /** Jeffreys interval of 95 percent. */
  readonly badRateLow: number
  readonly badRateHigh: number
  readonly cumBadRate: number
  /** Share of all, if this band and the better ones were approved. */
  readonly approvalRate: number
  /** The bad rate over that of all; null without a bad applicant. */
  readonly lift: number | null
}

/**
 * The gains table: bands of about equal counts from the best scores to the worst. Applicants with
 * the same score are in one band, so that there can be fewer bands. It gives way to the event loop.
 *
 * @param counts distinct scores, rising
 */
export async function computeGains(
  counts: readonly ScoreCount[],
  direction: Direction,
  bandsMax = 10,
): Promise<GainsBand[]> {
  const best = direction === 1 ? counts.toReversed() : counts
  let [total, totalBad] = [0, 0]
  await inTurns(counts, ({ good, bad }) => {
    total += good + bad
    totalBad += bad
  })
  const bands: GainsBand[] = []
  let [cumGood, cumBad, good, bad] = [0, 0, 0, 0]
  let first: number | null = null
  await inTurns(best, (count, index) => {
    good += count.good
    bad += count.bad
    first ??= count.score
    const cumCount = cumGood + cumBad + good + bad
    const before = cumGood + cumBad
    // The next of the marks that part all into equal bands; a tie can have passed several.
    const mark = Math.floor((before * bandsMax) / total) + 1
    const isFull = cumCount * bandsMax >= total * mark
    if (!isFull && index < best.length - 1) return
    cumGood += good
    cumBad += bad
    const badRate = bad / (good + bad)
    const { low, high } = jeffreysInterval(bad, good + bad)
    bands.push({
      minScore: Math.min(first, count.score),
      maxScore: Math.max(first, count.score),
      count: good + bad,
      good,
      bad,
      cumCount,
      cumGood,
      cumBad,
      share: (good + bad) / total,
      badRate,
      badRateLow: low,
      badRateHigh: high,
      cumBadRate: cumBad / cumCount,
      approvalRate: cumCount / total,
      lift: totalBad === 0 ? null : badRate / (totalBad / total),
    })
    ;[good, bad] = [0, 0]
    first = null
  })
  return bands
}
