/** An account with a month of booking; days in UTC. */
export interface VintageAccount {
  readonly bookedAtMs: number
  /** Until when it was observed. */
  readonly asOfMs: number
  /** When it became bad; null: it did not, or the day is not known. */
  readonly eventAtMs: number | null
}

/** The accounts of a month of booking. */
export interface Vintage {
  /** `2025-03`. */
  readonly cohort: string
  readonly n: number
  /** Share that was bad after m months, of those that were observed so long; null without one. */
  readonly values: readonly (number | null)[]
}

/** @param monthsMax the last month of each vintage */
export function vintagesOf(accounts: Iterable<VintageAccount>, monthsMax: number): Vintage[] {
  const cohorts = new Map<string, { n: number; observed: number[]; bad: number[] }>()
  for (const { bookedAtMs, asOfMs, eventAtMs } of accounts) {
    const cohort = new Date(bookedAtMs).toISOString().slice(0, 7)
    const found = cohorts.get(cohort) ?? {
      n: 0,
      observed: Array.from({ length: monthsMax + 1 }, () => 0),
      bad: Array.from({ length: monthsMax + 1 }, () => 0),
    }
    cohorts.set(cohort, found)
    found.n++
    for (let month = 0; month <= monthsMax; month++) {
      const endMs = addMonths(bookedAtMs, month)
      if (asOfMs < endMs) break
      found.observed[month] = (found.observed[month] ?? 0) + 1
      if (eventAtMs === null || eventAtMs > endMs) continue
      found.bad[month] = (found.bad[month] ?? 0) + 1
    }
  }
  return [...cohorts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([cohort, { n, observed, bad }]) => ({
      cohort,
      n,
      values: observed.map((seen, month) => (seen === 0 ? null : (bad[month] ?? 0) / seen)),
    }))
}

/** The same day so many calendar months later, or the last day of a shorter month. */
export function addMonths(epochMs: number, months: number): number {
  const from = new Date(epochMs)
  const to = new Date(epochMs)
  to.setUTCDate(1)
  to.setUTCMonth(from.getUTCMonth() + months)
  const days = new Date(Date.UTC(to.getUTCFullYear(), to.getUTCMonth() + 1, 0)).getUTCDate()
  to.setUTCDate(Math.min(from.getUTCDate(), days))
  return to.getTime()
}
