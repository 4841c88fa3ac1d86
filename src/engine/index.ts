export { type CompiledModel, compileModel } from './compile.ts'
export { EngineError, type EngineErrorCode } from './errors.ts'
export {
  type Applicant,
  type Outcome,
  ScoreSheet,
  scoreApplicant,
  unknownVariables,
} from './score.ts'
export {
  DEFAULT_SPEC_VERSION,
  type FeatureSpec,
  type RiskGradeSpec,
  type ScalingSpec,
  type ScorecardSpec,
} from './spec.ts'
export { checkSpec, type SpecCheck, type SpecIssue } from './validate.ts'
