export {
  CELL_FIRST_BIN,
  CELL_MISSING,
  CELL_NO_BIN,
  CELL_NOT_A_NUMBER,
  CELL_UNSEEN_CATEGORY,
  type CellModel,
  type CellScore,
  estimateCellModelBytes,
  findCellBin,
  findCellPoints,
  findCellSlots,
  readCellOutcome,
  type ScoreColumns,
  scoreCells,
  scoreColumns,
  toCellModel,
} from './cells.ts'
export { type CompiledModel, compileModel, compileSteps } from './compile.ts'
export {
  type BinChange,
  type Counterfactuals,
  findNextGrade,
  findOtherBins,
  listCounterfactuals,
  type OtherBin,
  type ScoreTarget,
} from './counterfactuals.ts'
export { DECIMAL, nextDown, nextUp, parseInterval } from './interval.ts'
export { EngineError, type EngineErrorCode } from './issues.ts'
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
  compileReasons,
  computeScoreRange,
  findDirection,
  formatBinText,
  type ReasonMeans,
  type ReasonRules,
  roundDistance,
} from './reasons.ts'
export { type FeatureRule, type IntervalRule, listRules } from './rules.ts'
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
  BINS_MAX,
  BINS_PER_FEATURE_MAX,
  CATEGORY_DELIMITER,
  DEFAULT_SPEC_VERSION,
  ENGINE_VERSION,
  FEATURES_MAX,
  type FeatureSpec,
  MISSING,
  RISK_GRADES_MAX,
  type RiskGradeSpec,
  type ScalingSpec,
  type ScorecardSpec,
} from './spec.ts'
export { finishSteps, type Steps } from './steps.ts'
export { countChars, DEFAULT_LANGUAGE, languageKey, listTags, textIn } from './texts.ts'
export {
  checkSpec,
  checkSteps,
  checkStoredSpec,
  checkStoredSteps,
  type SpecCheck,
  type SpecIssue,
} from './validate.ts'
export { isCount, isCountable } from './validate-counts.ts'
export { WrittenCategories } from './written-categories.ts'
