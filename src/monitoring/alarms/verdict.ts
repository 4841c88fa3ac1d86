import { MOVED_FEATURES_MAX, type MovedFeature } from '../../../schemas/alarms.ts'
import type { Stability } from '../../../schemas/monitoring.ts'
import { discoveries } from '../statistics/benjamini-hochberg.ts'
import type { Verdict } from '../statistics/population-stability.ts'

/** What an evaluation found. */
export interface Evaluation {
  /** Null without a baseline. */
  readonly verdict: Verdict | null
  readonly n: number
  /** Index of the score; null without a sample of scores. */
  readonly psi: number | null
  readonly moved: readonly MovedFeature[]
}

/** Among the features that are named, so many may be named by chance. */
const FALSE_DISCOVERY_RATE = 0.05
const MOVED: readonly (Verdict | null)[] = ['moderate_shift', 'major_shift']

/**
 * Sums up the stability of a deployment: the worst verdict of its score and of the features that
 * moved more than chance explains. A card has many features: without this correction one of them
 * would often seem to move.
 *
 * @param nMin applicants below which there is not enough data
 */
export function evaluationOf(stability: Stability, nMin: number): Evaluation {
  const { n, score, features, baseline } = stability
  const found = { n, psi: score.psi }
  if (baseline === null) return { ...found, verdict: null, moved: [] }
  // A feature of which one cell alone is met can't move, however few applicants there are.
  const movable = features.filter(({ cv_95: cv95 }) => cv95 !== 0)
  const judged = [score.verdict, ...movable.map(({ verdict }) => verdict)]
  const isJudged = judged.some((verdict) => verdict !== null && verdict !== 'insufficient_data')
  if (n < nMin || !isJudged) return { ...found, verdict: 'insufficient_data', moved: [] }
  const moved = movedFeatures(features)
  const verdicts = [score.verdict, ...moved.map(({ verdict }) => verdict)]
  const verdict = verdicts.includes('major_shift')
    ? 'major_shift'
    : verdicts.includes('moderate_shift')
      ? 'moderate_shift'
      : 'stable'
  return { ...found, verdict, moved: moved.slice(0, MOVED_FEATURES_MAX) }
}

/** Features that moved more than chance explains, most moved first. */
function movedFeatures(features: Stability['features']): MovedFeature[] {
  const tested = features.filter(({ p_value }) => p_value !== null)
  const isFound = discoveries(
    tested.map(({ p_value }) => p_value ?? 1),
    FALSE_DISCOVERY_RATE,
  )
  return tested
    .flatMap(({ name, verdict, csi_psi }, index) =>
      isFound[index] === true && verdict !== null && csi_psi !== null && MOVED.includes(verdict)
        ? [{ name, verdict, csi_psi }]
        : [],
    )
    .sort((a, b) => b.csi_psi - a.csi_psi)
}
