// The part of a specification that explains its scores, see docs/decisions.md 10.1. It has no
// effect unless `reasons.version` is `REASONS_VERSION`.

/** A text, or a text for each language tag. */
export type Texts = string | Readonly<Record<string, string>>

export const REASONS_VERSION = 1

/** The comparisons that points of an applicant can have. */
export const REASON_METHODS = ['mean_at_cutoff', 'mean_all', 'fixed', 'max'] as const
export type ReasonMethod = (typeof REASON_METHODS)[number]

/** Origins of the baselines of the method `fixed`. */
export const BASELINE_BASES = ['max', 'mean', 'mean_at_cutoff', 'neutral', 'other'] as const
export type BaselineBasis = (typeof BASELINE_BASES)[number]

/** The way the distances of features with the same code make one. */
export const REASON_AGGREGATES = ['positive', 'net', 'max'] as const
export type ReasonAggregate = (typeof REASON_AGGREGATES)[number]

/** Origins of the value of a feature. */
export const FEATURE_SOURCES = ['consumer_report', 'application', 'internal', 'other'] as const
export type FeatureSource = (typeof FEATURE_SOURCES)[number]

/** The properties of `reasons`. */
export interface ReasonSettings {
  readonly version: typeof REASONS_VERSION
  readonly method: ReasonMethod
  readonly max?: number
  readonly aggregate?: ReasonAggregate
  readonly min_distance?: number
  readonly texts_version?: string
  /** Present with the method `fixed`. */
  readonly baseline_basis?: BaselineBasis
}

/** Properties that a feature may add to those of `FeatureSpec`. */
export interface FeatureReasonSpec {
  readonly label?: Texts
  readonly source?: FeatureSource
  readonly reason_code?: string
  readonly reason_baseline?: number
  readonly reason_eligible?: boolean
  readonly inquiry_factor?: boolean
  readonly actionable?: boolean
  readonly bins: readonly BinReasonSpec[]
}

export interface BinReasonSpec {
  readonly label?: Texts
  readonly reason_code?: string
  /** Applicants of the development sample in this bin; a weighted sample has fractions. */
  readonly baseline_count?: number
  /** The bad ones among them. */
  readonly baseline_bads?: number
}

/** A specification whose extension `checkReasons` has accepted. */
export interface ReasonSpec {
  readonly reasons: ReasonSettings
  readonly reason_codes?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly features: readonly FeatureReasonSpec[]
}

/** Reasons that an answer may hold; more than four are unlikely to help an applicant. */
export const REASONS_MAX = 10
export const REASONS_DEFAULT = 4
export const REASON_CODE_CHARS_MAX = 32
export const REASON_CODES_MAX = 10_000
export const TEXT_CHARS_MAX = 2_000
export const LANGUAGES_MAX = 100
export const LANGUAGE_CHARS_MAX = 35
/** A language tag such as `en`, `es-MX` or `zh-Hant-TW`. */
export const LANGUAGE_TAG = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/

/** Tells whether the extension of a specification has an effect. */
export function hasReasons(spec: object): boolean {
  const { reasons } = spec as { readonly reasons?: unknown }
  return (
    typeof reasons === 'object' &&
    reasons !== null &&
    (reasons as { readonly version?: unknown }).version === REASONS_VERSION
  )
}
