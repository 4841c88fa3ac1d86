import type { Clock } from '../platform/clock.ts'

interface OverdueTimerOptions {
  readonly clock: Clock
  /** When the reply to the oldest call is due; null while no call waits. */
  readonly dueAtMs: () => number | null
  /** The reply to the oldest call is overdue. */
  readonly onOverdue: () => void
}

/** Watches whether the oldest call gets its reply in time. */
export class OverdueTimer {
  private readonly options: OverdueTimerOptions
  private timer: NodeJS.Timeout | undefined

  constructor(options: OverdueTimerOptions) {
    this.options = options
  }

  /** Starts to watch, unless it watches already or no call waits. */
  watch(): void {
    const { clock, dueAtMs } = this.options
    const dueMs = dueAtMs()
    if (this.timer !== undefined || dueMs === null) return
    const restMs = Math.max(1, dueMs - clock.monotonicMs())
    // If this process stood still, the reply may be ready: the event loop reads it before the
    // check. A call that becomes due after this moment has no such turn behind it.
    this.timer = setTimeout(() => {
      const lookedAtMs = clock.monotonicMs()
      setImmediate(() => this.check(lookedAtMs))
    }, restMs)
    this.timer.unref()
  }

  /** Starts to watch anew, because the oldest call may be due earlier than before. */
  watchAnew(): void {
    this.stop()
    this.watch()
  }

  stop(): void {
    clearTimeout(this.timer)
    this.timer = undefined
  }

  /** @param lookedAtMs what had arrived by then was read */
  private check(lookedAtMs: number): void {
    const { dueAtMs, onOverdue } = this.options
    this.timer = undefined
    const dueMs = dueAtMs()
    if (dueMs !== null && lookedAtMs >= dueMs) onOverdue()
    this.watch()
  }
}
