import type { Clock } from '../../platform/clock.ts'
import { type RecordV4, readHeadV4 } from '../record/record-v4.ts'
import type { SegmentRange, SpoolReader } from '../spool/reader.ts'
import type { ScoreLogStore } from './store.ts'

/** Receives the events that an operator should see in the service's log. */
interface DrainLog {
  /** The database accepts nothing. Called at the first failure, then once a minute. */
  failing(facts: FailingFacts, error: unknown): void
  /** The database accepts records again. */
  recovered(facts: FailingFacts): void
  /** A record that can't be stored was quarantined in the spool's directory. */
  quarantine(facts: { readonly requestId: string; readonly reason: string }): void
  /** Records of a team were set aside, because its tree of proofs is damaged. */
  held(records: HeldRecords): void
}

export interface FailingFacts {
  readonly failures: number
  readonly waitingRecords: number
}

export interface DrainOptions {
  readonly spool: SpoolReader
  readonly store: Pick<ScoreLogStore, 'append' | 'probe' | 'cursors'>
  /** Drains the normal batches outside of this thread; null without such a thread. */
  readonly thread: RangeDrainer | null
  readonly clock: Clock
  readonly log: DrainLog
  /**
   * Time for which records gather, so that one transaction stores many; 0 if responses wait for it.
   * Up to four times as long after a slow batch, such as one of many deployments, each with rollup
   * rows.
   */
  readonly gatherMs: number
  /** Bounds of a batch, which is one transaction. */
  readonly batchRecordsMax: number
  readonly batchBytesMax: number
}

/** Counts since the start of the process. */
export interface DrainStats {
  readonly drainedRecords: number
  /** Results of all models. */
  readonly drainedResults: number
  /** Records that were already in the log. */
  readonly replayedRecords: number
  readonly quarantinedRecords: number
  /** Batches that failed as a whole. */
  readonly failedBatches: number
  /** Batches that the drain thread left to this thread. */
  readonly handedBackBatches: number
  /** Age of the oldest record that is not in the database; null if all are. */
  readonly lagMs: number | null
}

/** Records of a team whose tree can't grow. */
interface HeldRecords {
  readonly teamId: string
  readonly records: readonly RecordV4[]
}

/**
 * Splits a batch into the records of some teams, which wait in files until their trees are mended,
 * and the others, which go on. What grew from a damaged tree could not be proved.
 */
export function splitByTeam(
  records: readonly RecordV4[],
  teamIds: ReadonlySet<string>,
): { readonly held: readonly HeldRecords[]; readonly others: readonly RecordV4[] } {
  const byTeam = Map.groupBy(records, ({ headBytes }) => readHeadV4(headBytes).teamId)
  const held = [...teamIds].map((teamId) => ({ teamId, records: byTeam.get(teamId) ?? [] }))
  for (const teamId of teamIds) byTeam.delete(teamId)
  return { held, others: [...byTeam.values()].flat() }
}

/** The part of a range that is in the log now. */
export interface DrainedRange {
  /** Offset in the file after the last record. */
  readonly end: number
  readonly records: number
  /** Number of records that were not in the log before, and of their results of all models. */
  readonly addedRecords: number
  readonly addedResults: number
  /** When the last of them was scored. */
  readonly newestAtMs: number
  /** True if the batch was as large as its bounds allow. */
  readonly isFull: boolean
}

/**
 * Drains records outside of the thread that answers requests. It handles only the normal case:
 * valid records that the database accepts.
 */
export interface RangeDrainer {
  /**
   * Stores the first records of a range in one transaction.
   *
   * @returns null if that failed. The drain then finds the reason, and whether the records are in
   *   the log
   */
  drainRange(range: SegmentRange): Promise<DrainedRange | null>
  close(): Promise<void>
}
