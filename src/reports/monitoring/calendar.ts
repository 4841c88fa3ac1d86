import type { TimeRange } from '../../log/index.ts'

export type Interval = 'day' | 'week' | 'month'

const DAY_MS = 86_400_000
/** 1970 began on a Thursday: the first Monday is the fifth of January. */
const FIRST_MONDAY_MS = 4 * DAY_MS

/** Start of the day, of the week from Monday on, or of the month in UTC that holds a time. */
export function intervalStart(interval: Interval, atMs: number): number {
  if (interval === 'day') return Math.floor(atMs / DAY_MS) * DAY_MS
  if (interval === 'week') {
    const weeks = Math.floor((atMs - FIRST_MONDAY_MS) / (7 * DAY_MS))
    return FIRST_MONDAY_MS + weeks * 7 * DAY_MS
  }
  const at = new Date(atMs)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth())
}

/** The interval that begins at `startMs`, cut to a range. */
export function intervalAt(interval: Interval, startMs: number, range: TimeRange): TimeRange {
  return {
    fromMs: Math.max(startMs, range.fromMs),
    toMs: Math.min(intervalEnd(interval, startMs), range.toMs),
  }
}

function intervalEnd(interval: Interval, startMs: number): number {
  if (interval !== 'month') return startMs + (interval === 'day' ? 1 : 7) * DAY_MS
  const start = new Date(startMs)
  return Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1)
}

/** Intervals begin at whole hours. */
const HOUR_MS = 3_600_000

/** A function of times that is the same within an hour: nearly always it was asked before. */
export function byHour(findStart: (atMs: number) => number): (atMs: number) => number {
  let [knownHour, known] = [Number.NaN, Number.NaN]
  return (atMs) => {
    const hour = Math.floor(atMs / HOUR_MS)
    if (hour !== knownHour) [knownHour, known] = [hour, findStart(atMs)]
    return known
  }
}
