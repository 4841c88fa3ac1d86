import {
  type InputFault,
  MOVED_FEATURES_MAX,
  type MovedFeature,
} from '../../../../schemas/alarms.ts'
import type { Stability } from '../../../../schemas/monitoring.ts'
import type { Verdict } from '../statistics/population-stability.ts'
import { discoveries } from '../statistics/significance.ts'

export interface Evaluation {
  /** Null without a baseline. */
  readonly verdict: Verdict | null
  readonly n: number
  /** Index of the score; null without a sample of scores. */
  readonly psi: number | null
  readonly moved: readonly MovedFeature[]
  readonly basis: EvaluationBasis
}

/** The grounds of a verdict. */
export interface EvaluationBasis {
  readonly modelId: string
  readonly modelVersion: string
  /** Null without a baseline. */
  readonly baselineId: string | null
  readonly formulaVersion: number
  /** Features with enough applicants for a verdict of their own. */
  readonly featuresJudged: number
  /** Features that could move, but have too few applicants. */
  readonly featuresUnjudged: number
  /** Features of which many values are of a kind that the sample does not count. */
  readonly inputFaults: readonly InputFault[]
}

/** Share of values that the sample does not know, from which a feature counts as faulty input. */
const UNKNOWN_SHARE_MAX = 0.05
/** Among the features that are named, so many may be named by chance. */
const FALSE_DISCOVERY_RATE = 0.05
const MOVED: readonly (Verdict | null)[] = ['moderate_shift', 'major_shift']

/**
 * Sums up the stability of a deployment: the worst verdict of its score and of the features that
 * moved more than chance explains. A card has many features: without this correction one of them
 * would often seem to move. `stable` means that the score and every feature could be judged.
 *
 * @param nMin applicants below which there is not enough data
 */
export function makeEvaluation(stability: Stability, nMin: number): Evaluation {
  const { n, score, features, baseline } = stability
  // A feature of which one cell alone is met can't move, however few applicants there are.
  const lacksData = ({ cv_95, verdict }: Pick<Stability['score'], 'cv_95' | 'verdict'>) =>
    verdict === 'insufficient_data' && cv_95 !== 0
  const featuresUnjudged = features.filter(lacksData).length
  const faults = inputFaults(features)
  const basis = {
    modelId: stability.model_id,
    modelVersion: stability.model_version,
    baselineId: baseline?.id ?? null,
    formulaVersion: stability.formula_version,
    featuresJudged: features.filter(isJudged).length,
    featuresUnjudged,
    inputFaults: faults.slice(0, MOVED_FEATURES_MAX),
  }
  const found = { n, psi: score.psi, basis }
  if (baseline === null) return { ...found, verdict: null, moved: [] }
  const isAnyJudged = isJudged(score) || basis.featuresJudged > 0
  if (n < nMin || !isAnyJudged) return { ...found, verdict: 'insufficient_data', moved: [] }
  const moved = movedFeatures(features)
  const isWhole = !lacksData(score) && featuresUnjudged === 0 && faults.length === 0
  const verdicts = [score.verdict, ...moved.map(({ verdict }) => verdict)]
  const verdict = verdicts.includes('major_shift')
    ? 'major_shift'
    : verdicts.includes('moderate_shift')
      ? 'moderate_shift'
      : isWhole
        ? 'stable'
        : 'insufficient_data'
  return { ...found, verdict, moved: moved.slice(0, MOVED_FEATURES_MAX) }
}

const isJudged = ({ verdict }: { readonly verdict: Verdict | null }) =>
  verdict !== null && verdict !== 'insufficient_data'

/** Features of whose values the sample does not know too many, the worst first. */
function inputFaults(features: Stability['features']): InputFault[] {
  return features
    .flatMap(({ name, n, n_compared, n_expected }) => {
      const share = n === 0 || n_expected === null ? 0 : (n - n_compared) / n
      return share < UNKNOWN_SHARE_MAX ? [] : [{ name, unknown_share: share }]
    })
    .sort((a, b) => b.unknown_share - a.unknown_share)
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

/** The basis of a verdict as answers and events name it; all null before the first evaluation. */
export function basisFields(basis: EvaluationBasis | null) {
  return {
    model_id: basis?.modelId ?? null,
    model_version: basis?.modelVersion ?? null,
    baseline_id: basis?.baselineId ?? null,
    formula_version: basis?.formulaVersion ?? null,
    features_judged: basis?.featuresJudged ?? null,
    features_unjudged: basis?.featuresUnjudged ?? null,
    input_faults: [...(basis?.inputFaults ?? [])],
  }
}
