import { jeffreysInterval } from './calibration.ts'
import { inTurns } from './in-turns.ts'

/** An account with a month of booking; days in UTC. */
interface VintageAccount {
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
  /** Accounts that were observed for m months, and those of them that were bad by then. */
  readonly observed: readonly number[]
  readonly bad: readonly number[]
  /** Jeffreys interval of 95 percent of each value. */
  readonly low: readonly (number | null)[]
  readonly high: readonly (number | null)[]
}

interface CohortTally {
  n: number
  readonly observed: number[]
  readonly bad: number[]
}

/** Days of booking whose months are remembered, each as up to 601 numbers. */
const DAYS_MAX = 2_000
const DAY_MS = 86_400_000
const MONTHS_A_LOOK = 5
/** Intervals that are remembered, each as some 200 bytes. */
const INTERVALS_MAX = 100_000

/** Counts accounts by month of booking, one after the other. */
export class VintageTally {
  private readonly monthsMax: number
  private readonly cohorts = new Map<string, CohortTally>()
  private readonly endsByDay = new Map<number, readonly number[]>()

  /** @param monthsMax the last month of each vintage */
  constructor(monthsMax: number) {
    this.monthsMax = monthsMax
  }

  add({ bookedAtMs, asOfMs, eventAtMs }: VintageAccount): void {
    const dayMs = Math.floor(bookedAtMs / DAY_MS) * DAY_MS
    const cohort = new Date(dayMs).toISOString().slice(0, 7)
    const found = this.cohorts.get(cohort) ?? this.emptyCohort()
    this.cohorts.set(cohort, found)
    found.n++
    for (const [month, endOfDayMs] of this.monthsAfter(dayMs).entries()) {
      const endMs = endOfDayMs + (bookedAtMs - dayMs)
      if (asOfMs < endMs) break
      found.observed[month] = (found.observed[month] ?? 0) + 1
      if (eventAtMs === null || eventAtMs > endMs) continue
      found.bad[month] = (found.bad[month] ?? 0) + 1
    }
  }

  /** Values that `vintages` will give. */
  get cells(): number {
    return this.cohorts.size * (this.monthsMax + 1)
  }

  /** The vintages of what was added, by month of booking. It gives way to the event loop. */
  async vintages(): Promise<Vintage[]> {
    const computeInterval = rememberedIntervals()
    const vintages: Vintage[] = []
    const sorted = [...this.cohorts].sort(([a], [b]) => (a < b ? -1 : 1))
    for (const [cohort, { n, observed, bad }] of sorted) {
      const values: (number | null)[] = []
      const low: (number | null)[] = []
      const high: (number | null)[] = []
      await inTurns(
        observed,
        (seen, month) => {
          const bads = bad[month] ?? 0
          const interval = seen === 0 ? null : computeInterval(bads, seen)
          values.push(seen === 0 ? null : bads / seen)
          low.push(interval?.low ?? null)
          high.push(interval?.high ?? null)
        },
        MONTHS_A_LOOK,
      )
      vintages.push({ cohort, n, values, observed, bad, low, high })
    }
    return vintages
  }

  private emptyCohort(): CohortTally {
    const length = this.monthsMax + 1
    return {
      n: 0,
      observed: Array.from({ length }, () => 0),
      bad: Array.from({ length }, () => 0),
    }
  }

  private monthsAfter(dayMs: number): readonly number[] {
    const known = this.endsByDay.get(dayMs)
    if (known !== undefined) return known
    const ends = Array.from({ length: this.monthsMax + 1 }, (_, month) => addMonths(dayMs, month))
    if (this.endsByDay.size >= DAYS_MAX) this.endsByDay.clear()
    this.endsByDay.set(dayMs, ends)
    return ends
  }
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

/** Neighbouring months mostly have the same counts, and an interval takes a while. */
function rememberedIntervals() {
  const known = new Map<string, { readonly low: number; readonly high: number }>()
  return (bad: number, n: number) => {
    const name = `${bad}/${n}`
    const interval = known.get(name) ?? jeffreysInterval(bad, n)
    if (known.size >= INTERVALS_MAX) known.clear()
    known.set(name, interval)
    return interval
  }
}
