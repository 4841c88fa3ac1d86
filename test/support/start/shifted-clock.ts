import type { Clock } from '../../../src/platform/clock.ts'

/** The time of day, so far back as is set. */
export class ShiftedClock implements Clock {
  backMs = 0

  epochMs(): number {
    return Date.now() - this.backMs
  }

  monotonicMs(): number {
    return performance.now()
  }
}
