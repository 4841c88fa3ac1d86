import { type Applicant, type ModelScore, unknownVariables } from '../engine/index.ts'
import { AppError, type ErrorCode, type ErrorDetail } from '../errors.ts'

/** Beyond this many, details are only counted. */
const DETAILS_MAX = 10_000

/** Where an applicant stands in the body of the request. */
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
    const isViolating = this.isStrict && modelScore.missingCount + modelScore.unknownCount > 0
    if (!isInvalid && !isViolating) return false
    const fields = recordFields(applicant, place)
    const detail = (name: string, message: string): ErrorDetail => ({
      path: pathOf(place, name),
      message,
      ...fields,
    })
    for (const [feature, name] of modelScore.model.featureNames.entries()) {
      const outcome = modelScore.outcomeOf(feature)
      if (outcome === 'invalid') {
        this.invalid ??= new DetailList()
        this.invalid.add(detail(name, invalidMessage(applicant[name])))
      } else if (this.isStrict && outcome === 'missing') {
        this.violations ??= new DetailList()
        this.violations.add(detail(name, 'is missing: strict mode wants every feature'))
      }
    }
    if (this.isStrict && modelScore.unknownCount > 0) {
      for (const name of unknownVariables(modelScore.model, applicant, reservedName)) {
        this.violations ??= new DetailList()
        this.violations.add(detail(name, 'is not a feature of this model'))
      }
    }
    return true
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
  throw new AppError(code, `${first.path} ${first.message}${others}`, { details })
}

function pathOf({ property, index }: ApplicantPosition, name: string): string {
  if (index !== null) return `${property}[${index}].${name}`
  return property === '' ? name : `${property}.${name}`
}

function recordFields(
  { id }: Applicant,
  { index }: ApplicantPosition,
): Pick<ErrorDetail, 'index' | 'id'> {
  if (index === null) return {}
  return {
    index,
    id: typeof id === 'string' || Number.isFinite(id) ? (id as string | number) : null,
  }
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
  const type = Array.isArray(value)
    ? 'an array'
    : typeof value === 'boolean'
      ? 'a boolean'
      : 'an object'
  return `must be a number, a text, or null for missing, but is ${type}`
}
