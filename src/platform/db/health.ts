import type { Clock } from '../clock.ts'
import { Histogram } from '../metrics/histogram.ts'

/** `refused`: the database answered with an error, for instance for a name that is taken. */
type CallOutcome = 'ok' | 'refused' | 'away' | 'overdue'

const DURATION_BOUNDS_SEC = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Within this time a replica without traffic notes that its database is away, or back. */
const PROBE_EVERY_MS = 5_000

/** Health of the database by the calls of all stores: how they ended, and since when it is away. */
export class DatabaseHealth {
  readonly durations = new Histogram(DURATION_BOUNDS_SEC)
  readonly calls: Record<CallOutcome, number> = { ok: 0, refused: 0, away: 0, overdue: 0 }
  callsInFlight = 0
  private readonly clock: Clock
  private answeredAtMs: number
  private isAway = false
  private timer: NodeJS.Timeout | null = null

  constructor(clock: Clock) {
    this.clock = clock
    this.answeredAtMs = clock.monotonicMs()
  }

  /** @returns to be called once, with how the call ended */
  begin(): (outcome: CallOutcome) => void {
    const beganAtMs = this.clock.monotonicMs()
    this.callsInFlight++
    return (outcome) => {
      const nowMs = this.clock.monotonicMs()
      this.callsInFlight--
      this.calls[outcome]++
      this.durations.observe((nowMs - beganAtMs) / 1000)
      this.isAway = outcome === 'away' || outcome === 'overdue'
      if (!this.isAway) this.answeredAtMs = nowMs
    }
  }

  /** Time since the last answer while the database is away; 0 while it answers. */
  get awayMs(): number {
    return this.isAway ? this.clock.monotonicMs() - this.answeredAtMs : 0
  }

  /**
   * Calls the database every 5 s unless other calls do.
   *
   * @param ask makes one call, which reports its end to `begin`
   */
  startProbes(ask: () => Promise<void>): void {
    this.timer = setInterval(() => {
      if (!this.isAway && this.clock.monotonicMs() - this.answeredAtMs < PROBE_EVERY_MS) return
      // The call has reported its failure to `begin`.
      ask().catch(() => undefined)
    }, PROBE_EVERY_MS).unref()
  }

  stopProbes(): void {
    if (this.timer !== null) clearInterval(this.timer)
  }
}

/**
 * Why a database that is away for longer than can be bridged makes a process unready; else null.
 */
export function awayTooLong(awayMs: number, bridgedMs: number): string | null {
  return awayMs > bridgedMs ? `away for ${Math.floor(awayMs / 1000)} s` : null
}
