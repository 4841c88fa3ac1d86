/** A scorecard specification that `checkSpec` has accepted. */
export interface ScorecardSpec {
  readonly name: string
  readonly version: string
  /** Version of the format itself; absent means `DEFAULT_SPEC_VERSION`. */
  readonly spec_version?: string
  /** Name of the outcome variable, for instance `default_12m`. */
  readonly target: string
  readonly base_points: number
  readonly features: readonly FeatureSpec[]
  /** False for a card whose scale is unknown: its scores have no probability of default. */
  readonly has_pd?: boolean
  /** Absent if and only if `has_pd` is false. */
  readonly scaling?: ScalingSpec
  readonly risk_grades?: readonly RiskGradeSpec[]
}

export type FeatureSpec = NumericFeatureSpec | CategoricalFeatureSpec

export interface NumericFeatureSpec {
  readonly name: string
  readonly type: 'numeric'
  readonly bins: readonly { readonly range: string; readonly points: number }[]
}

export interface CategoricalFeatureSpec {
  readonly name: string
  readonly type: 'categorical'
  readonly bins: readonly { readonly value: string; readonly points: number }[]
}

/**
 * Calibration: the odds at `base_score` are `base_odds` (good:bad); every `pdo` points double them.
 */
export interface ScalingSpec {
  readonly base_score: number
  readonly base_odds: number
  readonly pdo: number
}

/** A closed range of scores; `null` means unbounded. */
export interface RiskGradeSpec {
  readonly grade: string
  readonly min_score: number | null
  readonly max_score: number | null
}

export const DEFAULT_SPEC_VERSION = '1.0'

/** The text of the bin for missing values. */
export const MISSING = 'Missing'

/** Joins the categories of one bin; not a comma, because category names contain commas. */
export const CATEGORY_DELIMITER = '%,%'

export const FEATURES_MAX = 1_000
export const BINS_PER_FEATURE_MAX = 1_000
/**
 * Bounds the work that one card costs others. The largest cards of lenders have some 2,000 bins;
 * one of 1,000 features with 450 bins each held up a process for seconds.
 */
export const BINS_MAX = 20_000
/** A card needs about ten; each takes a kilobyte in every replica that serves the card. */
export const RISK_GRADES_MAX = 1_000
/** Bounds the names of a card, its features and its grades, which appear in every response. */
export const NAME_CHARS_MAX = 255
export const CATEGORY_CHARS_MAX = 1_000
/** In all features of a card. More than the postal codes of any country. */
export const CATEGORIES_MAX = 100_000

/**
 * Names that no feature may have. The first two appear next to the features in a scoring body; the
 * third looks like an attack on the prototype of a parsed object.
 */
export const RESERVED_FEATURE_NAMES: ReadonlySet<string> = new Set([
  'strict_mode',
  'id',
  '__proto__',
])

/**
 * Version of the arithmetic, logged with each result. Raise it when a change can give the same spec
 * and the same values another score, probability, grade, bin or cell, be it in the last bit.
 */
export const ENGINE_VERSION = 1
