import { AppError } from '../../errors.ts'
import type { TimeRange } from './spans.ts'

/**
 * All scores lie between these moments. Databases know neither the year 0 nor the year 10,000. The
 * last moment is the start of a day, so that no minute, hour or day begins after it.
 */
const FIRST_MS = 0
const LAST_MS = Date.parse('9999-12-31T00:00:00.000Z')

/**
 * Reads a moment of a query as milliseconds since 1970, rounded up. Scores are timed in whole
 * milliseconds, so that rounding up keeps the same scores on each side.
 *
 * @param name name of the query parameter
 * @param text ISO 8601 with its zone, already checked by the schema
 * @throws AppError `invalid_request`
 */
export function readMoment(name: string, text: string): number {
  const epochMs = Date.parse(text)
  if (Number.isNaN(epochMs)) {
    throw new AppError('invalid_request', `${name} is not a moment that a clock shows`)
  }
  const [, beyondMs = ''] = /\.\d{3}(\d+)/.exec(text) ?? []
  const isBetween = /[1-9]/.test(beyondMs)
  return Math.min(LAST_MS, Math.max(FIRST_MS, epochMs + (isBetween ? 1 : 0)))
}

/**
 * Reads the time range of a query: from `from` to before `to`; a missing end is infinite.
 *
 * @throws AppError `invalid_request`
 */
export function readTimeRange({
  from,
  to,
}: {
  readonly from?: string | undefined
  readonly to?: string | undefined
}): TimeRange {
  const range = {
    fromMs: from === undefined ? Number.NEGATIVE_INFINITY : readMoment('from', from),
    toMs: to === undefined ? Number.POSITIVE_INFINITY : readMoment('to', to),
  }
  requireOrder(range)
  return range
}

/** @throws AppError `invalid_request` */
export function requireOrder({ fromMs, toMs }: TimeRange): void {
  if (fromMs > toMs) throw new AppError('invalid_request', 'from must not be later than to')
}
