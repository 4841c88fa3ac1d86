import type { Clock } from '../../platform/clock.ts'
import type { SharedClock } from '../../platform/db/database-clock.ts'
import { Periodic } from '../../platform/periodic.ts'
import { SPAN_MS, spanStart } from '../rollups/spans.ts'
import type { ScoreKeyStore } from '../score-keys/store.ts'
import type { LogTables } from './partitions.ts'

/** Receives the events of maintenance that an operator should see. */
interface MaintenanceLog {
  dropped(partitions: readonly string[]): void
  /** Rows of days without a partition: a clock is wrong, or maintenance failed for a week. */
  stray(rows: number): void
  failed(error: unknown): void
}

interface MaintenanceOptions {
  readonly tables: LogTables
  readonly keys: Pick<ScoreKeyStore, 'removeExpired'>
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
export function maintainPartitions(options: MaintenanceOptions): Periodic {
  const { tables, keys, clock, sharedClock, retentionDays, fromMs, hasAutovacuum, log } = options
  const round = async () => {
    const today = spanStart('day', clock.epochMs())
    const first = Math.min(today, spanStart('day', fromMs ?? today))
    const count = (today - first) / SPAN_MS.day + DAYS_AHEAD + 1
    const days = Array.from({ length: count }, (_, day) => first + day * SPAN_MS.day)
    await tables.makePartitions(days)
    const sharedMs = await sharedClock.nowMs()
    const sharedToday = spanStart('day', sharedMs)
    await keys.removeExpired(sharedMs)
    const dropped = await tables.dropBefore(sharedToday - retentionDays * SPAN_MS.day)
    if (dropped.length > 0) log.dropped(dropped)
    await tables.forgetSpools(sharedToday - SPOOL_DAYS * SPAN_MS.day)
    const stray = await tables.strayRows()
    if (stray > 0) log.stray(stray)
    if (!hasAutovacuum) await tables.vacuum()
  }
  return new Periodic({ round, everyMs: EVERY_MS, retryMs: RETRY_MS, onFailed: log.failed })
}
