import { EngineError } from './issues.ts'
import type { RiskGradeSpec, ScalingSpec, ScorecardSpec } from './spec.ts'

/** Converts a score to odds: `factor` in points per unit of log-odds, `offset` the score at 1:1. */
export interface Scale {
  readonly factor: number
  readonly offset: number
}

/**
 * The scale of a scorecard, or null when its `has_pd` is false.
 *
 * @throws EngineError `scale_invalid`, see `compileScale`
 */
export function computeScale({ has_pd: hasPd, scaling }: ScorecardSpec): Scale | null {
  if (hasPd === false) return null
  if (scaling === undefined) throw new EngineError('scale_invalid', 'scaling is missing')
  return compileScale(scaling)
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
 * Never NaN and never outside [0, 1]: score, offset and factor are finite and factor is not 0. If
 * `exp` overflows, the result is 0; if it underflows, the result is 1.
 *
 * @param score points, finite
 * @returns probability of default, 0..1
 * @source docs/decisions.md 3.7
 */
export function probabilityOfDefault(scale: Scale, score: number): number {
  return 1 / (1 + Math.exp((score - scale.offset) / scale.factor))
}

/** Risk grades sorted by their lower end; unbounded ends are infinite. */
export interface GradeTable {
  readonly names: readonly string[]
  readonly low: Float64Array
  readonly high: Float64Array
}

/** Makes a table for `findGradeIndex` from grades that `checkSpec` found disjoint. */
export function compileGrades(grades: readonly RiskGradeSpec[]): GradeTable {
  const sorted = grades
    .map((grade) => ({
      name: grade.grade,
      low: grade.min_score ?? Number.NEGATIVE_INFINITY,
      high: grade.max_score ?? Number.POSITIVE_INFINITY,
    }))
    .sort((a, b) => (a.low < b.low ? -1 : a.low > b.low ? 1 : 0))
  return {
    names: sorted.map((grade) => grade.name),
    low: Float64Array.from(sorted, (grade) => grade.low),
    high: Float64Array.from(sorted, (grade) => grade.high),
  }
}

/**
 * Index of the grade whose closed range contains the score; -1 in a hole or without grades.
 *
 * The search takes the last grade that starts at or below the score, so an end that two grades
 * share belongs to the grade that starts there.
 */
export function findGradeIndex(table: GradeTable, score: number): number {
  let last = 0
  let count = table.low.length
  if (count === 0) return -1
  while (count > 1) {
    const half = count >>> 1
    last += half * +(table.low[last + half]! <= score)
    count -= half
  }
  return table.low[last]! <= score && score <= table.high[last]! ? last : -1
}
