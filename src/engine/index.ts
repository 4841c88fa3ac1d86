export {
  binOfCell,
  CELL_FIRST_BIN,
  CELL_MISSING,
  CELL_NO_BIN,
  CELL_NOT_A_NUMBER,
  CELL_UNSEEN_CATEGORY,
  type CellScore,
  outcomeOfCell,
  pointsOfCell,
  scoreOfCells,
} from './cells.ts'
export { type CompiledModel, compileModel } from './compile.ts'
export { EngineError, type EngineErrorCode } from './errors.ts'
export { DECIMAL, nextDown, nextUp, parseInterval } from './interval.ts'
export { type FeatureRule, rulesOf } from './rules.ts'
export { probabilityOfDefault, type Scale } from './scaling.ts'
export {
  type Applicant,
  isUnmatched,
  ModelScore,
  type Outcome,
  scoreApplicant,
  unknownVariables,
} from './score.ts'
export {
  BINS_PER_FEATURE_MAX,
  CATEGORY_DELIMITER,
  DEFAULT_SPEC_VERSION,
  type FeatureSpec,
  MISSING,
  RISK_GRADES_MAX,
  type RiskGradeSpec,
  type ScalingSpec,
  type ScorecardSpec,
} from './spec.ts'
export { checkSpec, checkStoredSpec, type SpecCheck, type SpecIssue } from './validate.ts'
export { ENGINE_VERSION } from './version.ts'
