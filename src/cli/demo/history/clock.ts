import { type Clock, systemClock } from '../../../platform/clock.ts'

/**
 * The system's clock, whose wall time can be set to the past while a history is made.
 *
 * *Set back*: it stands at the moment that was set last. *Arrived*: it is the system's clock, as it
 * is before the first moment is set. Ages and durations are always those of the system.
 */
export class HistoryClock implements Clock {
  private atMs: number | null = null

  epochMs(): number {
    return this.atMs ?? systemClock.epochMs()
  }

  monotonicMs(): number {
    return systemClock.monotonicMs()
  }

  /** @param epochMs the wall time from now on, milliseconds since 1970 */
  set(epochMs: number): void {
    this.atMs = epochMs
  }

  /** Follows the system from now on. */
  arrive(): void {
    this.atMs = null
  }
}
