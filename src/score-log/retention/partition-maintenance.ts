import type { Clock } from '../clock.ts'
import { SPAN_MS, spanStart } from './spans.ts'

/** What the passing of time needs of the database. */
export interface LogTables {
  /**
   * Makes the partitions of these days that are missing.
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
  /** Rows that have no partition of their own. */
  strayRows(): Promise<number>
  /** Forgets dead rows, where the database does not by itself. */
  vacuum(): Promise<void>
}

/** Told of what upkeep did and of what it could not do. */
export interface UpkeepLog {
  dropped(partitions: readonly string[]): void
  /** Rows came for days that had no partition: a clock is wrong, or upkeep failed for a week. */
  stray(rows: number): void
  failed(error: unknown): void
}

export interface UpkeepOptions {
  readonly tables: LogTables
  readonly clock: Clock
  readonly retentionDays: number
  readonly hasAutovacuum: boolean
  readonly log: UpkeepLog
}

const DAYS_AHEAD = 7
const EVERY_MS = 3_600_000
/** After a round that failed. */
const RETRY_MS = 60_000

/**
 * Keeps the tables of the score log fit for the days to come: partitions are there a week ahead, and what
 * is older than the retention goes. A round runs at the start and once an hour, in each replica; rounds that
 * meet find nothing left to do. A round that fails is told and tried again after a minute.
 */
export class Upkeep {
  private readonly options: UpkeepOptions
  private timer: NodeJS.Timeout | undefined
  private round: Promise<void> = Promise.resolve()
  private isClosed = false

  constructor(options: UpkeepOptions) {
    this.options = options
  }

  /** Runs the first round, and the others from then on. */
  async start(): Promise<void> {
    this.round = this.run()
    await this.round
  }

  /** Waits for the round that runs; none follows. */
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
    const { tables, clock, retentionDays, hasAutovacuum, log } = this.options
    try {
      const today = spanStart('day', clock.epochMs())
      const days = Array.from({ length: DAYS_AHEAD + 1 }, (_, day) => today + day * SPAN_MS.day)
      await tables.makePartitions(days)
      const dropped = await tables.dropBefore(today - retentionDays * SPAN_MS.day)
      if (dropped.length > 0) log.dropped(dropped)
      const stray = await tables.strayRows()
      if (stray > 0) log.stray(stray)
      if (!hasAutovacuum) await tables.vacuum()
      return true
    } catch (error) {
      log.failed(error)
      return false
    }
  }
}
