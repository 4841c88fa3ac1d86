import { EngineError } from './errors.ts'
import type { ScalingSpec } from './spec.ts'

/** Turns a score into odds: points per unit of log-odds, and the score at odds of 1:1. */
export interface Scale {
  readonly factor: number
  readonly offset: number
}

/**
 * Derives the scale of a scorecard from its calibration point.
 *
 * At odds `base_odds` the card gives `base_score`, and every further `pdo` points double the odds:
 * factor = pdo / ln 2, offset = base_score - factor * ln(base_odds). Nothing is rounded. A negative
 * `pdo` is legal: a higher score is then a higher risk.
 *
 * @param scaling `pdo` in points, not 0; `base_score` in points, finite; `base_odds` good:bad, > 0
 * @throws EngineError `scale_invalid` when factor or offset is not finite or factor is 0
 * @source N. Siddiqi, Credit Risk Scorecards (Wiley, 2006), scorecard scaling
 */
export function compileScale(scaling: ScalingSpec): Scale {
  const factor = scaling.pdo / Math.LN2
  const offset = scaling.base_score - factor * Math.log(scaling.base_odds)
  if (!Number.isFinite(factor) || factor === 0 || !Number.isFinite(offset)) {
    throw new EngineError('scale_invalid', 'scaling gives no finite factor and offset')
  }
  return { factor, offset }
}

/**
 * Probability that the applicant is bad: 1 / (1 + exp((score - offset) / factor)).
 *
 * Never NaN and never outside [0, 1]: score, offset and factor are finite and factor is not 0, an
 * exponent that overflows gives 0, one that underflows gives 1.
 *
 * @param score points, finite
 * @returns probability of default, 0..1
 * @source API specification, scoring rule 4
 */
export function probabilityOfDefault(scale: Scale, score: number): number {
  return 1 / (1 + Math.exp((score - scale.offset) / scale.factor))
}
