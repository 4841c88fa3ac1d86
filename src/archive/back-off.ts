interface Failing {
  readonly failures: number
  readonly untilMs: number
}

const FIRST_MS = 120_000
const LONGEST_MS = 6 * 3_600_000
/** Days that are remembered; a further one is tried each time. */
const DAYS_MAX = 1_000

/**
 * Which days are not tried for a while, because they failed: from two minutes after the first
 * failure to six hours. To write a day costs minutes of a processor.
 */
export class BackOff {
  private readonly failing = new Map<number, Failing>()

  failed(dayMs: number, nowMs: number): void {
    const failures = (this.failing.get(dayMs)?.failures ?? 0) + 1
    if (this.failing.size >= DAYS_MAX && failures === 1) return
    const waitMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1))
    this.failing.set(dayMs, { failures, untilMs: nowMs + waitMs })
  }

  succeeded(dayMs: number): void {
    this.failing.delete(dayMs)
  }

  isOver(dayMs: number, nowMs: number): boolean {
    return nowMs >= (this.failing.get(dayMs)?.untilMs ?? 0)
  }
}
