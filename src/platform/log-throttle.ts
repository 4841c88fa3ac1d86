import type { Clock } from './clock.ts'

interface Tally {
  suppressed: number
  loggedAtMs: number
}

const LOG_EVERY_MS = 10_000
const NAMES_MAX = 1_000

/**
 * Decides when to log an event that may happen very often: the first time at once, then at most
 * every
 * 10 s, with the number of events since. Beyond 1,000 names it forgets all of them.
 */
export class LogThrottle {
  private readonly clock: Clock
  private readonly tallies = new Map<string, Tally>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** @returns the number of events to log now, including this one; 0: log nothing */
  hit(name: string): number {
    const nowMs = this.clock.monotonicMs()
    const tally = this.tallies.get(name)
    if (tally !== undefined && nowMs - tally.loggedAtMs < LOG_EVERY_MS) {
      tally.suppressed++
      return 0
    }
    if (tally === undefined && this.tallies.size >= NAMES_MAX) this.tallies.clear()
    this.tallies.set(name, { suppressed: 0, loggedAtMs: nowMs })
    return (tally?.suppressed ?? 0) + 1
  }
}
