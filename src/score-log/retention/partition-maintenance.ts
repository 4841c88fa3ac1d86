import type { Clock } from '../../platform/clock.ts'
import type { SharedClock } from '../../platform/db/database-clock.ts'
import { SPAN_MS, spanStart } from '../../rollups/spans.ts'

/** Changes to the tables of the score log as time passes. */
export interface LogTables {
  /**
   * Creates the missing partitions of these days.
   *
   * @returns their names
   */
  makePartitions(dayStartsMs: readonly number[]): Promise<string[]>
  /**
   * Drops the partitions of all days before this one, and the rollups with them.
   *
   * @returns the names of the partitions
   */
  dropBefore(dayStartMs: number): Promise<string[]>
  /** Removes the positions of spools that no process has had since. */
  forgetSpools(beforeMs: number): Promise<void>
  /** Number of rows in the default partition. */
  strayRows(): Promise<number>
  /** Removes dead rows, for a database without autovacuum. */
  vacuum(): Promise<void>
}

/** Receives the events of maintenance that an operator should see. */
export interface MaintenanceLog {
  dropped(partitions: readonly string[]): void
  /** Rows of days without a partition: a clock is wrong, or maintenance failed for a week. */
  stray(rows: number): void
  failed(error: unknown): void
}

export interface MaintenanceOptions {
  readonly tables: LogTables
  /** For the partitions of the records that this process writes. */
  readonly clock: Pick<Clock, 'epochMs'>
  /** For what is deleted. */
  readonly sharedClock: SharedClock
  readonly retentionDays: number
  /** Makes the partitions of the days since then, too; by default none before today. */
  readonly fromMs?: number
  readonly hasAutovacuum: boolean
  readonly log: MaintenanceLog
}

const DAYS_AHEAD = 7
/** A spool that was away for longer must not be drained: see `LISTED_MS` of erasures. */
const SPOOL_DAYS = 90
const EVERY_MS = 3_600_000
/** After a round that failed. */
const RETRY_MS = 60_000

/**
 * Creates the partitions of the score log a week ahead, and drops data older than the retention. A
 * round runs at the start and once an hour in each replica. Rounds that run at the same time do the
 * work once. A failed round is logged and tried again after a minute.
 */
export class PartitionMaintenance {
  private readonly options: MaintenanceOptions
  private timer: NodeJS.Timeout | undefined
  /** Rounds that failed since the start. */
  failures = 0
  private round: Promise<void> = Promise.resolve()
  private isClosed = false

  constructor(options: MaintenanceOptions) {
    this.options = options
  }

  /** Runs the first round, and the others from then on. */
  async start(): Promise<void> {
    this.round = this.run()
    await this.round
  }

  /** Waits for the running round and starts no other. */
  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.timer)
    await this.round
  }

  private async run(): Promise<void> {
    const isDone = await this.runOnce()
    if (this.isClosed) return
    const next = () => {
      this.round = this.run()
    }
    this.timer = setTimeout(next, isDone ? EVERY_MS : RETRY_MS).unref()
  }

  /** One round; never rejects. */
  private async runOnce(): Promise<boolean> {
    const { tables, clock, sharedClock, retentionDays, fromMs, hasAutovacuum, log } = this.options
    try {
      const today = spanStart('day', clock.epochMs())
      const first = Math.min(today, spanStart('day', fromMs ?? today))
      const count = (today - first) / SPAN_MS.day + DAYS_AHEAD + 1
      const days = Array.from({ length: count }, (_, day) => first + day * SPAN_MS.day)
      await tables.makePartitions(days)
      const sharedToday = spanStart('day', await sharedClock.nowMs())
      const dropped = await tables.dropBefore(sharedToday - retentionDays * SPAN_MS.day)
      if (dropped.length > 0) log.dropped(dropped)
      await tables.forgetSpools(sharedToday - SPOOL_DAYS * SPAN_MS.day)
      const stray = await tables.strayRows()
      if (stray > 0) log.stray(stray)
      if (!hasAutovacuum) await tables.vacuum()
      return true
    } catch (error) {
      this.failures++
      log.failed(error)
      return false
    }
  }
}
