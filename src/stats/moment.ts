import { AppError } from '../errors.ts'

/** What was scored lies between; databases know no year 0. */
const FIRST_MS = 0
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * Reads a moment of a query as milliseconds since 1970, rounded up: scores are timed in whole milliseconds,
 * so that those from it on, and those before it, are the same ones.
 *
 * @param name of the parameter
 * @param text ISO 8601 with its zone, as the schema has checked
 * @throws AppError `invalid_request`
 */
export function readMoment(name: string, text: string): number {
  const epochMs = Date.parse(text)
  if (Number.isNaN(epochMs)) {
    throw new AppError('invalid_request', `${name} is no moment that a clock shows`)
  }
  const [, beyondMs = ''] = /\.\d{3}(\d+)/.exec(text) ?? []
  const isBetween = /[1-9]/.test(beyondMs)
  return Math.min(LAST_MS, Math.max(FIRST_MS, epochMs + (isBetween ? 1 : 0)))
}
