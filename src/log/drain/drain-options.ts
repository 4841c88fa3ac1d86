import type { Clock } from '../../platform/clock.ts'
import type { SpoolReader } from '../spool/reader.ts'
import type { RangeDrainer } from './drained-range.ts'
import type { HeldRecords } from './held-records.ts'
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
