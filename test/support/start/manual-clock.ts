import type { Clock } from '../../../src/platform/clock.ts'

/** Time that stands still until a test moves it. */
export class ManualClock implements Clock {
  private nowMs: number

  constructor(startMs = 1_000_000) {
    this.nowMs = startMs
  }

  epochMs(): number {
    return this.nowMs
  }

  monotonicMs(): number {
    return this.nowMs
  }

  advance(ms: number): void {
    this.nowMs += ms
  }
}
