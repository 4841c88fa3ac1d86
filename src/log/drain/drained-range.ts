import type { SegmentRange } from '../spool/reader.ts'

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
