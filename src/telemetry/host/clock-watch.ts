import { sql } from 'drizzle-orm'
import type { Clock } from '../../platform/clock.ts'
import { queryRows, type Statements } from '../../platform/db/client.ts'
import { Periodic } from '../../platform/periodic.ts'

/** From so far apart on the log says so; from the second bound on the process is not ready. */
const APART_MS_WARNED = 300_000
const APART_MS_MAX = 3_600_000
const EVERY_MS = 60_000
/** An answer that took longer says too little about its time. */
const ROUND_TRIP_MS_MAX = 5_000

interface ClockWatchOptions {
  readonly db: Statements
  readonly clock: Clock
  /** Called when the clocks come apart by `APART_MS_WARNED`, and when they agree again. */
  readonly onChange: (facts: { readonly apartSec: number; readonly isApart: boolean }) => void
}

/**
 * Compares the clock of this process with that of the database, at the start and once a minute:
 * retention, statistics and the order of scores go by the times that this clock gives them.
 */
export class ClockWatch {
  private readonly options: ClockWatchOptions
  readonly periodic: Periodic
  /** How far this clock is ahead of the database's, as of the last check; null before it. */
  aheadMs: number | null = null

  constructor(options: ClockWatchOptions) {
    this.options = options
    // A database that is away leaves what was known.
    const onFailed = () => undefined
    this.periodic = new Periodic({ round: () => this.check(), everyMs: EVERY_MS, onFailed })
  }

  /** Why the process should get no requests; null: its clock is good enough. */
  get refusal(): string | null {
    const apartMs = Math.abs(this.aheadMs ?? 0)
    if (apartMs <= APART_MS_MAX) return null
    return `differs from the database's by ${Math.round(apartMs / 1_000)} s`
  }

  /** Compares once. */
  async check(): Promise<void> {
    const { db, clock, onChange } = this.options
    const beganAtMs = clock.monotonicMs()
    const asked = await queryRows<{ now_ms: number }>(
      db,
      sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms`,
    )
    const tookMs = clock.monotonicMs() - beganAtMs
    const [row] = asked
    if (row === undefined || tookMs > ROUND_TRIP_MS_MAX) return
    const wasApart = this.isApart
    this.aheadMs = clock.epochMs() - tookMs / 2 - row.now_ms
    if (this.isApart === wasApart) return
    onChange({ apartSec: Math.round(this.aheadMs / 1_000), isApart: this.isApart })
  }

  private get isApart(): boolean {
    return Math.abs(this.aheadMs ?? 0) > APART_MS_WARNED
  }
}
