import type { Clock } from './clock.ts'

interface Tally {
  untold: number
  toldAtMs: number
}

const TELL_EVERY_MS = 10_000
const NAMES_MAX = 1_000

/**
 * Decides when to tell the log of what may happen very often: the first time at once, after that every
 * 10 s at the most, with how many there were. Beyond 1,000 names it starts anew.
 */
export class Sparing {
  private readonly clock: Clock
  private readonly tallies = new Map<string, Tally>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** @returns how many to tell of now, this one included; 0: nothing */
  note(name: string): number {
    const nowMs = this.clock.monotonicMs()
    const tally = this.tallies.get(name)
    if (tally !== undefined && nowMs - tally.toldAtMs < TELL_EVERY_MS) {
      tally.untold++
      return 0
    }
    if (tally === undefined && this.tallies.size >= NAMES_MAX) this.tallies.clear()
    this.tallies.set(name, { untold: 0, toldAtMs: nowMs })
    return (tally?.untold ?? 0) + 1
  }
}
