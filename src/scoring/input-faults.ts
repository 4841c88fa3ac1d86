import { type Applicant, isUnmatched, type ModelScore, unknownVariables } from '../engine/index.ts'
import { AppError, type ErrorCode, type ErrorDetail } from '../errors.ts'
import { REPEATED_NAMES } from '../platform/json.ts'

/** Beyond this many, details are only counted. */
const DETAILS_MAX = 10_000
/** Names of an applicant that are no features: ten times as many as a card has features. */
const UNKNOWN_MAX = 10_000

/** Position of an applicant in the body of the request. */
export interface ApplicantPosition {
  /** Name of the property that holds the applicant or the batch; empty: the body itself. */
  readonly property: string
  /** Position in the batch; null outside of one. */
  readonly index: number | null
}

/** Collects why a scoring request must be refused, over all of its records. */
export class InputViolations {
  private readonly isStrict: boolean
  // Made when there is something to note: most requests have no faults.
  private invalid: DetailList | null = null
  private violations: DetailList | null = null

  constructor(isStrict: boolean) {
    this.isStrict = isStrict
  }

  /**
   * Notes the faults of one applicant.
   *
   * @param modelScore just filled for it
   * @param reservedName the key of the applicant that is not a variable
   * @param place where the applicant stands in the request
   * @returns whether there were any
   */
  check(
    modelScore: ModelScore,
    applicant: Applicant,
    reservedName: string | undefined,
    place: ApplicantPosition,
  ): boolean {
    const isInvalid = modelScore.invalidCount > 0
    const { missingCount, unknownCount, unmatchedCount } = modelScore
    if (unknownCount > UNKNOWN_MAX) {
      this.invalid ??= new DetailList()
      this.invalid.add({
        path: applicantPath(place),
        message: `has ${unknownCount} names that are no features: send at most ${UNKNOWN_MAX}`,
        ...recordFields(applicant, place),
      })
      return true
    }
    const isSuspect = this.isStrict && missingCount + unknownCount + unmatchedCount > 0
    if (!isInvalid && !isSuspect) return false
    let isFaulty = false
    const fields = recordFields(applicant, place)
    const detail = (name: string, message: string): ErrorDetail => ({
      path: formatPath(place, name),
      message,
      ...fields,
    })
    for (const [feature, name] of modelScore.model.featureNames.entries()) {
      const outcome = modelScore.readOutcome(feature)
      const typeFault = this.typeFault(modelScore, feature, applicant[name])
      if (typeFault !== null) {
        isFaulty = true
        this.violations ??= new DetailList()
        this.violations.add(detail(name, typeFault))
      } else if (outcome === 'invalid') {
        isFaulty = true
        this.invalid ??= new DetailList()
        this.invalid.add(detail(name, invalidMessage(applicant[name])))
      } else if (this.isStrict && outcome === 'missing') {
        isFaulty = true
        this.violations ??= new DetailList()
        this.violations.add(detail(name, 'is missing: strict mode wants every feature'))
      }
    }
    if (this.isStrict && unknownCount > 0) {
      isFaulty = true
      for (const name of unknownVariables(modelScore, applicant, reservedName)) {
        this.violations ??= new DetailList()
        this.violations.add(detail(name, 'is not a feature of this deployment'))
      }
    }
    return isFaulty
  }

  /**
   * Notes values whose type a shadow model does not take, for features that the champion does not
   * have: strict mode refuses them, because the shadow score would be wrong.
   *
   * @param features indexes of these features
   * @returns whether there were any
   */
  checkOwn(
    modelScore: ModelScore,
    features: readonly number[],
    applicant: Applicant,
    place: ApplicantPosition,
  ): boolean {
    if (!this.isStrict || modelScore.unmatchedCount + modelScore.invalidCount === 0) return false
    let isFaulty = false
    for (const feature of features) {
      const name = modelScore.model.featureNames[feature] ?? ''
      const value = applicant[name]
      const isInvalid = modelScore.readOutcome(feature) === 'invalid'
      const message =
        this.typeFault(modelScore, feature, value) ?? (isInvalid ? invalidMessage(value) : null)
      if (message === null) continue
      isFaulty = true
      this.violations ??= new DetailList()
      this.violations.add({
        path: formatPath(place, name),
        message,
        ...recordFields(applicant, place),
      })
    }
    return isFaulty
  }

  /** Describes a value that strict mode refuses for a numeric feature; null for others. */
  private typeFault(modelScore: ModelScore, feature: number, value: unknown): string | null {
    if (!this.isStrict || modelScore.model.features[feature]?.isNumeric !== true) return null
    const outcome = modelScore.readOutcome(feature)
    // A number beyond the range of a double is malformed, strict or not.
    if (outcome === 'not_a_number' || (outcome === 'invalid' && typeof value !== 'number')) {
      return `must be a number: the feature is numeric, and strict mode takes no ${typeName(value)}`
    }
    return null
  }

  /** @throws AppError `invalid_request` before `strict_mode_violation` */
  throwIfAny(): void {
    if (this.invalid !== null) throwFor('invalid_request', this.invalid.toArray())
    if (this.violations !== null) throwFor('strict_mode_violation', this.violations.toArray())
  }
}

/** The message names the first fault, for callers that show no details. */
function throwFor(code: ErrorCode, details: readonly ErrorDetail[]): void {
  const [first] = details
  if (first === undefined) return
  const others = details.length === 1 ? '' : `, and ${details.length - 1} more in details`
  throw new AppError(code, `${first.path || 'the applicant'} ${first.message}${others}`, {
    details,
  })
}

function formatPath(place: ApplicantPosition, name: string): string {
  const applicant = applicantPath(place)
  return applicant === '' ? name : `${applicant}.${name}`
}

function applicantPath({ property, index }: ApplicantPosition): string {
  return index === null ? property : `${property}[${index}]`
}

function recordFields(
  { id }: Applicant,
  { index }: ApplicantPosition,
): Pick<ErrorDetail, 'index' | 'id'> {
  if (index === null) return {}
  return { index, id: readRecordId(id) }
}

/** Several models of a live split may have the same to say: it is listed once. */
class DetailList {
  private readonly details: ErrorDetail[] = []
  private readonly listed = new Set<string>()
  private surplus = 0

  add(detail: ErrorDetail): void {
    const text = `${detail.path}\0${detail.message}`
    if (this.listed.has(text)) return
    this.listed.add(text)
    if (this.details.length < DETAILS_MAX) this.details.push(detail)
    else this.surplus++
  }

  toArray(): ErrorDetail[] {
    if (this.surplus === 0) return this.details
    return [...this.details, { path: '', message: `and ${this.surplus} more, not listed` }]
  }
}

function invalidMessage(value: unknown): string {
  if (typeof value === 'number') return 'is beyond the range of a double'
  const type = typeName(value)
  const article = /^[ao]/.test(type) ? 'an' : 'a'
  return `must be a number, a text, or null for missing, but is ${article} ${type}`
}

function typeName(value: unknown): string {
  if (typeof value === 'string') return 'text'
  if (typeof value === 'boolean') return 'boolean'
  return Array.isArray(value) ? 'array' : 'object'
}

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
export const IGNORED_ID =
  'ignored_id: the id of a record must be a text, or a number up to 2^53 - 1'

/**
 * Tells whether a record has an id that is neither kept nor echoed. Larger numbers are rounded when
 * JSON is read: their id would be that of another applicant.
 */
export function isIgnoredId(id: unknown): boolean {
  if (typeof id === 'number') return !(Math.abs(id) <= Number.MAX_SAFE_INTEGER)
  return id !== undefined && id !== null && typeof id !== 'string'
}

/** The id that is kept and echoed. */
export function readRecordId(id: unknown): string | number | null {
  return isIgnoredId(id) ? null : ((id ?? null) as string | number | null)
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
