import { CallError } from './errors.ts'

/** Null and undefined are missing values. */
export type FeatureValue = number | string | null | undefined

/** Feature values by name. An interface with these fields fits, too. */
export type Applicant<Features> = { readonly [Name in keyof Features]: FeatureValue }

/** A value that JSON would turn into another one, or that the service refuses. */
export class InvalidApplicantError extends CallError {
  override readonly name = 'InvalidApplicantError'
}

/**
 * Refuses what would be scored as something else.
 *
 * JSON writes NaN and infinite numbers as null, which is a missing value, and a date as a text.
 *
 * @param place position in a batch, for the message
 * @throws InvalidApplicantError naming the feature, never its value
 */
export function checkApplicant(applicant: object, place = ''): void {
  for (const [name, value] of Object.entries(applicant)) {
    if (value === null || value === undefined || typeof value === 'string') continue
    if (typeof value === 'number' && Number.isFinite(value)) continue
    const found = typeof value === 'number' ? 'a number that is not finite' : kindOf(value)
    const hint = 'send a finite number, a text, or null for a missing value'
    throw new InvalidApplicantError(`${place}${name} is ${found}: ${hint}`)
  }
}

/**
 * Refuses, too, an id that the service would ignore: the score could not be found by it.
 *
 * @throws InvalidApplicantError
 */
export function checkRecord(record: object, place: string): void {
  checkApplicant(record, place)
  const { id } = record as { readonly id?: unknown }
  if (typeof id !== 'number' || Math.abs(id) <= Number.MAX_SAFE_INTEGER) return
  throw new InvalidApplicantError(`${place}id is a number beyond 2^53 - 1: send it as a text`)
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array'
  if (value instanceof Date) return 'a date'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
