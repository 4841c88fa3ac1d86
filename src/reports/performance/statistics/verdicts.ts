import type { Calibration } from './calibration.ts'
import type { DevelopmentCheck, Discrimination } from './discrimination.ts'
import type { PairedComparison } from './paired.ts'

/** Outcomes that must become known before there is another verdict, if figures stay as they are. */
interface Needed {
  /** Good and bad applicants, together, in the mix of now. */
  readonly n: number
  readonly bad: number
}

interface Verdict<Word extends string> {
  readonly verdict: Word
  /** Null beside every verdict but `insufficient_data`, and where nothing tells how many. */
  readonly needed: Needed | null
}

export type RankingVerdict = Verdict<'ranks' | 'ranks_backwards' | 'insufficient_data'>
export type PowerVerdict = Verdict<'held' | 'lost_power' | 'insufficient_data' | 'unknown'>
export type ChallengerVerdict = Verdict<'better' | 'worse' | 'no_difference' | 'insufficient_data'>
type ProbabilityVerdict = 'fits' | 'too_low' | 'watch' | 'too_high' | 'unknown'

/** Applicants by what became of them. */
interface Classes {
  readonly good: number
  readonly bad: number
}

/** Fewer of a class than this are too few for the normal distribution of an AUC. */
const CLASS_MIN = 20
/** A difference of AUC that matters by default: 0.02 of Gini. */
export const MARGIN_DEFAULT = 0.01
/** Standard normal quantile of 0.95: bounds of a test on one side. */
const NORMAL_95 = 1.6448536269514722

/** Tells whether scores tell good from bad: whether all of the interval lies on one side of 0.5. */
export function judgeRanking(found: Discrimination, classes: Classes): RankingVerdict {
  const { auc, aucLow, aucHigh } = found
  const few = tooFew(classes)
  if (few !== null) return few
  if (auc === null || aucLow === null || aucHigh === null) return undecided(null)
  if (aucLow > 0.5) return decided('ranks')
  if (aucHigh < 0.5) return decided('ranks_backwards')
  return undecided(neededFor(classes, (aucHigh - aucLow) / 2, Math.abs(auc - 0.5)))
}

/**
 * Tells whether a card has lost power since its development. `lost_power`: by the test on one side
 * of 5 percent it lies below, and the loss may be more than the margin. `held`: by the same test it
 * does not lie below by the margin or more.
 *
 * @param margin of the AUC, above 0: a smaller loss does not matter
 */
export function judgePower(
  { auc, aucSe }: Discrimination,
  development: DevelopmentCheck | null,
  classes: Classes,
  margin: number,
): PowerVerdict {
  if (development === null) return { verdict: 'unknown', needed: null }
  const few = tooFew(classes)
  if (few !== null) return few
  if (auc === null || aucSe === null || aucSe === 0) return undecided(null)
  const loss = development.auc - auc
  const half = NORMAL_95 * aucSe
  if (loss + half <= margin) return decided('held')
  if (loss - half >= 0) return decided('lost_power')
  return undecided(neededFor(classes, half, Math.max(loss, margin - loss)))
}

/**
 * Tells whether a challenger tells good from bad better than the champion, on the applicants that
 * both scored. `no_difference`: all of the interval lies within the margin. `better`, `worse`: all
 * of it lies on one side of 0.
 *
 * @param margin of the AUC, above 0: a smaller difference does not matter
 */
export function judgeChallenger(
  compared: Pick<PairedComparison, 'aucDifference' | 'aucDifferenceLow' | 'aucDifferenceHigh'>,
  classes: Classes,
  margin: number,
): ChallengerVerdict {
  const few = tooFew(classes)
  if (few !== null) return few
  const { aucDifference, aucDifferenceLow: low, aucDifferenceHigh: high } = compared
  // Without an interval there is one ranking: every difference of two scores is the same.
  if (aucDifference === 0 && low === null) return decided('no_difference')
  if (aucDifference === null || low === null || high === null) return undecided(null)
  if (low >= -margin && high <= margin) return decided('no_difference')
  if (low > 0) return decided('better')
  if (high < 0) return decided('worse')
  const size = Math.abs(aucDifference)
  return undecided(neededFor(classes, (high - low) / 2, Math.max(size, margin - size)))
}

type Grade = Calibration & { readonly grade: string | null }

/** Tells whether the probabilities of the grades fit, with the grades where they do not. */
export function judgeProbabilities(grades: readonly Grade[]): {
  readonly verdict: ProbabilityVerdict
  readonly grades: readonly (string | null)[]
} {
  const known = grades.filter(({ light }) => light !== null)
  if (known.length === 0) return { verdict: 'unknown', grades: [] }
  const named = (of: readonly Grade[]) => of.map(({ grade }) => grade)
  const [low, watched] = [ofLight(known, 'red'), ofLight(known, 'amber')]
  const high = known.filter(({ meanPd, badRateHigh }) => meanPd !== null && badRateHigh < meanPd)
  if (low.length > 0) return { verdict: 'too_low', grades: named(low) }
  if (watched.length > 0) return { verdict: 'watch', grades: named(watched) }
  if (high.length > 0) return { verdict: 'too_high', grades: named(high) }
  return { verdict: 'fits', grades: [] }
}

function ofLight(grades: readonly Grade[], light: Grade['light']): Grade[] {
  return grades.filter((grade) => grade.light === light)
}

function decided<Word extends string>(verdict: Word): Verdict<Word> {
  return { verdict, needed: null }
}

function undecided(needed: Needed | null): Verdict<'insufficient_data'> {
  return { verdict: 'insufficient_data', needed }
}

/** The applicants that are needed before there is any verdict; null where there are enough. */
function tooFew({ good, bad }: Classes): Verdict<'insufficient_data'> | null {
  const [goods, bads] = [Math.max(0, CLASS_MIN - good), Math.max(0, CLASS_MIN - bad)]
  return goods + bads === 0 ? null : undecided({ n: goods + bads, bad: bads })
}

/**
 * The applicants after whom an interval is as narrow as it must be: its width falls with the root
 * of their number.
 */
function neededFor({ good, bad }: Classes, half: number, halfMax: number): Needed | null {
  const n = good + bad
  const more = Math.ceil(n * (half / halfMax) ** 2) - n
  if (!Number.isSafeInteger(more)) return null
  const needed = Math.max(1, more)
  return { n: needed, bad: Math.max(1, Math.ceil((needed * bad) / n)) }
}
