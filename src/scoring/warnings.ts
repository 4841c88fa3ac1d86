import { type Applicant, isUnmatched, type ModelScore, unknownVariables } from '../engine/index.ts'
import { REPEATED_NAMES } from '../platform/json.ts'

/** A note about an applicant's values that did not keep the score from being made. */
type ScoringWarning =
  | {
      readonly type: 'no_bin_match'
      readonly variable: string
      readonly value: unknown
      readonly message: string
    }
  | { readonly type: 'unknown_variable'; readonly variable: string; readonly message: string }
  | `missing_feature: ${string}`
  | `repeated_name: ${string}`
  | typeof NO_FEATURES
  | typeof IGNORED_ID

/** A batch lists missing features, a single result does not. */
export type WarningForm = 'single' | 'batch'

/**
 * Stands in both forms: a generated client that drops unknown properties sends `{}` for everyone,
 * and everyone then gets the same score.
 */
const NO_FEATURES = "no_features: the request names none of the model's features"

/** In a batch, before all others. Such a score can't be found by its reference. */
export const IGNORED_ID = 'ignored_id: the id of a record must be a text or a number'

/** Tells whether a record has an id that is neither kept nor echoed. */
export function isIgnoredId(id: unknown): boolean {
  return id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number'
}

/** Names that the applicant was sent with more than once: of their values the last counts. */
export function readRepeatedNames(applicant: Applicant): readonly string[] {
  return (applicant as Repeating)[REPEATED_NAMES] ?? NONE
}

interface Repeating extends Applicant {
  readonly [REPEATED_NAMES]?: readonly string[]
}

const NONE: readonly string[] = []

/** Unknown variables of one applicant beyond this many are only counted. */
const UNKNOWN_LISTED_MAX = 1_000

/**
 * Lists the warnings of an applicant: first `NO_FEATURES`, then names that were repeated, then
 * features in the order of the spec, then unknown variables in the order of the request.
 */
export function listWarnings(
  modelScore: ModelScore,
  applicant: Applicant,
  form: WarningForm,
  reservedName: string | undefined,
): ScoringWarning[] {
  const warnings: ScoringWarning[] = modelScore.namedCount === 0 ? [NO_FEATURES] : []
  for (const name of readRepeatedNames(applicant)) warnings.push(`repeated_name: ${name}`)
  for (const [feature, name] of modelScore.model.featureNames.entries()) {
    const outcome = modelScore.readOutcome(feature)
    if (isUnmatched(outcome)) {
      const points = modelScore.readPoints(feature)
      const message = `the value matches no bin of ${name} and adds ${points} points`
      warnings.push({ type: 'no_bin_match', variable: name, value: applicant[name], message })
    } else if (outcome === 'missing' && form === 'batch') {
      warnings.push(`missing_feature: ${name}`)
    }
  }
  if (modelScore.unknownCount === 0) return warnings
  const unknown = unknownVariables(modelScore, applicant, reservedName)
  for (const name of unknown.slice(0, UNKNOWN_LISTED_MAX)) {
    const message = `the model has no feature ${name}`
    warnings.push({ type: 'unknown_variable', variable: name, message })
  }
  if (unknown.length > UNKNOWN_LISTED_MAX) {
    const message = `and ${unknown.length - UNKNOWN_LISTED_MAX} more unknown variables, not listed`
    warnings.push({ type: 'unknown_variable', variable: '', message })
  }
  return warnings
}

/** Tells whether an applicant has no warnings: cheaper than listing them. */
export function isWithoutWarnings(
  modelScore: ModelScore,
  applicant: Applicant,
  form: WarningForm,
): boolean {
  return (
    readRepeatedNames(applicant) === NONE &&
    modelScore.unmatchedCount === 0 &&
    modelScore.unknownCount === 0 &&
    modelScore.namedCount > 0 &&
    (modelScore.missingCount === 0 || form === 'single')
  )
}

/** Counts the warnings of an applicant, those beyond the listed ones included. */
export function countWarnings(
  modelScore: ModelScore,
  applicant: Applicant,
  form: WarningForm,
): number {
  const { unmatchedCount, unknownCount, missingCount, namedCount } = modelScore
  const listed = unmatchedCount + unknownCount + (form === 'batch' ? missingCount : 0)
  return listed + readRepeatedNames(applicant).length + (namedCount === 0 ? 1 : 0)
}
