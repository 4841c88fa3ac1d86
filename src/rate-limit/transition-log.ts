import type { Clock } from '../platform/clock.ts'

/** Says that the quota of something counts in this process alone, or in Redis again. */
type Say = (facts: { readonly isDegraded: boolean; reason: string; changes: number }) => void

const LOG_EVERY_MS = 10_000

/**
 * Damps the log of a limiter that goes over and back: the first change is said at once, further
 * ones 10 s later, as one line with their number. What was said last is always true after 10 s.
 */
export class TransitionLog {
  private readonly clock: Clock
  private readonly say: Say
  private saidAtMs = Number.NEGATIVE_INFINITY
  private latest = { isDegraded: false, reason: '' }
  private changes = 0
  private timer: NodeJS.Timeout | undefined

  constructor(clock: Clock, say: Say) {
    this.clock = clock
    this.say = say
  }

  note(isDegraded: boolean, reason: string): void {
    this.latest = { isDegraded, reason }
    this.changes++
    const restMs = this.saidAtMs + LOG_EVERY_MS - this.clock.monotonicMs()
    if (restMs <= 0) this.tell()
    else this.timer ??= setTimeout(() => this.tell(), restMs).unref()
  }

  private tell(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.saidAtMs = this.clock.monotonicMs()
    this.say({ ...this.latest, changes: this.changes })
    this.changes = 0
  }
}
