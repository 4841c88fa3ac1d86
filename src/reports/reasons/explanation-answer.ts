import type { BinChange } from '../../engine/index.ts'
import type { Explanation } from './explanation.ts'

/** An explanation in the words of the public contract. */
export function explanationAnswer(explanation: Explanation) {
  const { result, reasons, target, counterfactuals, featureNames, sensitivity, findBin } =
    explanation
  const formatName = (feature: number) => featureNames[feature] ?? ''
  const changeAnswer = ({ feature, bin, gain }: BinChange) => ({
    feature: formatName(feature),
    bin: findBin(feature, bin),
    gain,
  })
  return {
    request_id: explanation.requestId,
    record_index: explanation.recordIndex,
    model_id: explanation.modelId,
    score: result.score,
    risk_grade: result.grade,
    pd: result.pd,
    cutoff: explanation.cutoff,
    reasons: reasons === null ? null : [...reasons.reasons],
    ...(reasons?.found.isTruncated === true && { reasons_truncated: true }),
    ...(reasons?.found.isEmpty === true && { no_adverse_factor: true }),
    key_factors: [...(reasons?.keyFactors ?? [])],
    reason_method: reasons?.method ?? null,
    score_range: explanation.scoreRange,
    features: [...explanation.features],
    counterfactuals: {
      need: counterfactuals.need,
      target: target === null ? null : targetAnswer(target),
      single: counterfactuals.single.map(changeAnswer),
      least_set: counterfactuals.leastSet?.map(changeAnswer) ?? null,
    },
    sensitivity:
      sensitivity?.map((bins, feature) => ({
        feature: formatName(feature),
        bins: bins.map(({ bin, points, score, grade }) => ({
          ...findBin(feature, bin),
          points,
          score,
          risk_grade: grade,
        })),
      })) ?? null,
  }
}

function targetAnswer({ cutoff, grade }: NonNullable<Explanation['target']>) {
  return {
    ...(cutoff !== null && { cutoff }),
    ...(grade !== null && { risk_grade: grade }),
  }
}
