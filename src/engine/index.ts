export {
  binOfCell,
  CELL_FIRST_BIN,
  CELL_MISSING,
  CELL_NO_BIN,
  CELL_NOT_A_NUMBER,
  CELL_UNSEEN_CATEGORY,
  type CellModel,
  type CellScore,
  cellModelBytes,
  cellModelOf,
  outcomeOfCell,
  pointsOfCell,
  type ScoreColumns,
  scoreColumns,
  scoreOfCells,
  slotsOfCells,
} from './cells.ts'
export { type CompiledModel, compileModel } from './compile.ts'
export {
  type BinChange,
  type Counterfactuals,
  counterfactualsOf,
  nextGradeOf,
  type OtherBin,
  otherBinsOf,
  type ScoreTarget,
} from './counterfactuals.ts'
export { EngineError, type EngineErrorCode } from './errors.ts'
export { DECIMAL, nextDown, nextUp, parseInterval } from './interval.ts'
export { type FoundReasons, type Reason, ReasonFinder } from './reason-finder.ts'
export {
  type FeatureReasonSpec,
  type FeatureSource,
  LANGUAGE_TAG,
  REASONS_MAX,
  type ReasonMethod,
  type ReasonSpec,
  type Texts,
} from './reason-spec.ts'
export {
  bestPoints,
  binTextOf,
  compileReasons,
  directionOf,
  type ReasonMeans,
  type ReasonRules,
  roundDistance,
  scoreRangeOf,
} from './reasons.ts'
export { type FeatureRule, type IntervalRule, rulesOf } from './rules.ts'
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
export { charsOf, DEFAULT_LANGUAGE, languageKey, tagsOf, textIn } from './texts.ts'
export { checkSpec, checkStoredSpec, type SpecCheck, type SpecIssue } from './validate.ts'
export { ENGINE_VERSION } from './version.ts'
