import { AppError } from '../../errors.ts'

/** Applicants of a report: each takes about half a kilobyte until it is done. */
export const APPLICANTS_MAX = 1_000_000

/** The error of a report above `APPLICANTS_MAX`. */
export function tooMany(what: 'applicants' | 'outcomes'): AppError {
  const message = `the period has more than ${APPLICANTS_MAX} ${what}: choose a shorter one`
  return new AppError('invalid_request', message)
}
