export { type CompiledModel, compileModel } from './compile.ts'
export { EngineError, type EngineErrorCode } from './errors.ts'
export { nextDown, nextUp } from './interval.ts'
export { type FeatureRule, rulesOf } from './rules.ts'
export type { Scale } from './scaling.ts'
export {
  type Applicant,
  type Outcome,
  ScoreSheet,
  scoreApplicant,
  unknownVariables,
} from './score.ts'
export {
  BINS_PER_FEATURE_MAX,
  CATEGORY_DELIMITER,
  DEFAULT_SPEC_VERSION,
  type FeatureSpec,
  MISSING,
  type RiskGradeSpec,
  type ScalingSpec,
  type ScorecardSpec,
} from './spec.ts'
export { checkSpec, type SpecCheck, type SpecIssue } from './validate.ts'
