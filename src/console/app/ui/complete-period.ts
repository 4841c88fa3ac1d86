const DAY_MS = 86_400_000
/** The first Monday after the epoch, in days. */
const MONDAY_DAYS = 4

/** A period of a report: ends are ISO texts, and undefined where it is open. */
export interface Period {
  readonly from?: string
  readonly to?: string
}

/** The newest complete week or month in UTC, as the overview judges them. */
export function completePeriod(unit: 'week' | 'month', nowMs = Date.now()): Required<Period> {
  const now = new Date(nowMs)
  if (unit === 'month') {
    const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
    return between(Date.UTC(year, month - 1), Date.UTC(year, month))
  }
  const days = Math.floor(nowMs / DAY_MS)
  const monday = days - ((days - MONDAY_DAYS) % 7)
  return between((monday - 7) * DAY_MS, monday * DAY_MS)
}

function between(fromMs: number, toMs: number): Required<Period> {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
}
