import type { Clock } from '../clock.ts'
import { Histogram } from '../histogram.ts'

/** `refused`: the database answered with an error, as it does for what is taken already. */
export type CallOutcome = 'ok' | 'refused' | 'away' | 'overdue'

const DURATION_BOUNDS_SEC = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** A replica without traffic learns this soon that its database is away, and that it is back. */
const PROBE_EVERY_MS = 5_000

/** What the calls of all stores say of the database: how they ended, and since when it is away. */
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

  /** @returns tells how the call has ended; once */
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

  /** Time since the last answer, while calls get none; 0 while they do. */
  get awayMs(): number {
    return this.isAway ? this.clock.monotonicMs() - this.answeredAtMs : 0
  }

  /**
   * Asks the database now and then where nobody else does.
   *
   * @param ask one call that tells this of its end
   */
  startProbes(ask: () => Promise<void>): void {
    this.timer = setInterval(() => {
      if (!this.isAway && this.clock.monotonicMs() - this.answeredAtMs < PROBE_EVERY_MS) return
      // How it ended is told where calls begin.
      ask().catch(() => undefined)
    }, PROBE_EVERY_MS).unref()
  }

  stopProbes(): void {
    if (this.timer !== null) clearInterval(this.timer)
  }
}
