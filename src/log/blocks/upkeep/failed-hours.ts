import { SPAN_MS } from '../../rollups/spans.ts'

/** An hour is left alone after this many failures. */
const FAILURES_MAX = 3
/** Above the number of hours within which blocks are merged. */
const HOURS_MAX = 100

/** Hours whose blocks could not be merged, so that others get their turn. */
export class FailedHours {
  private readonly hours = new Map<number, { readonly failures: number; readonly atMs: number }>()

  /** Counts a failure that the next attempt may not meet. */
  add(hourMs: number, nowMs: number): void {
    this.set(hourMs, nowMs, (this.hours.get(hourMs)?.failures ?? 0) + 1)
  }

  /** Leaves an hour alone from its first failure on: the next attempt would fail the same way. */
  skip(hourMs: number, nowMs: number): void {
    this.set(hourMs, nowMs, FAILURES_MAX)
  }

  /** Failures are forgotten an hour after the last one. */
  isSkipped(hourMs: number, nowMs: number): boolean {
    const found = this.hours.get(hourMs)
    if (found === undefined) return false
    if (nowMs - found.atMs < SPAN_MS.hour) return found.failures >= FAILURES_MAX
    this.hours.delete(hourMs)
    return false
  }

  private set(hourMs: number, atMs: number, failures: number): void {
    this.hours.delete(hourMs)
    this.hours.set(hourMs, { failures, atMs })
    for (const oldest of this.hours.keys()) {
      if (this.hours.size <= HOURS_MAX) return
      this.hours.delete(oldest)
    }
  }
}
