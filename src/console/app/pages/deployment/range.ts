export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000

/** The start of a range, at a whole minute, so that consoles share a report. */
export function computeStart(hours: number): string {
  return new Date(Math.floor((Date.now() - hours * HOUR_MS) / MINUTE_MS) * MINUTE_MS).toISOString()
}
