import type { RecordV4 } from '../record/record-v4.ts'
import type { Cursor } from './spool-papers.ts'

/** Place of a batch in a spool. */
export interface DrainPosition {
  /** Identity of the spool's directory. */
  readonly spoolId: string
  /** Position that the database has before the batch, and after it. */
  readonly from: Cursor
  readonly to: Cursor
}

/** End of a batch in the spool. */
export interface DrainToken {
  readonly directory: string
  readonly spoolId: string
  /** Position that the database has before the batch. */
  readonly from: Cursor
  readonly segment: number
  readonly offset: number
  readonly records: number
  /** When the last record of the batch was scored, if known. */
  readonly newestAtMs?: number
}

/** Part of a segment with records that are not acknowledged. */
export interface SegmentRange {
  readonly directory: string
  readonly spoolId: string
  /** Position that the database has before the range. */
  readonly from: Cursor
  readonly segment: number
  readonly path: string
  readonly offset: number
  /** Bytes from the start of the file to the end of the part that can be drained. */
  readonly readableBytes: number
}

/** A quarantined part of the spool: it can't be read or is too large. */
export interface Rejected {
  /** Position in the spool, which is also the name of the quarantine file without its suffix. */
  readonly position: string
  readonly reason: string
}

export interface DrainBatch {
  /** Oldest first. */
  readonly records: readonly RecordV4[]
  readonly rejected: readonly Rejected[]
  readonly token: DrainToken
}

export interface SpoolStats {
  /** Bytes on disk: records that are not drained, and segments that are not removed. */
  readonly bytes: number
  /** At this many bytes requests are refused. */
  readonly bytesMax: number
  /** Records that are not drained; an estimate for spools of ended processes. */
  readonly records: number
  readonly oldestAgeMs: number | null
  /**
   * Requests that were answered `unavailable` after their deadline although their record is kept.
   */
  readonly overdueRequests: number
}

/** The spool as the drain reads it. */
export interface SpoolReader {
  /** The range that `readBatch` reads next; null if all is acknowledged, or without files. */
  oldest(): SegmentRange | null
  /**
   * Reads the oldest records that are not acknowledged, and repeats them until they are.
   *
   * @param maxRecords most records of a batch
   * @param maxBytes most bytes of payload; a single record can be larger
   */
  readBatch(maxRecords: number, maxBytes: number): Promise<DrainBatch>
  /**
   * Reads some small records after a batch that is not acknowledged, to check whether the database
   * accepts them; empty if there are none.
   */
  readBehind(token: DrainToken, maxRecords: number, maxBytes: number): Promise<readonly RecordV4[]>
  /** Marks a batch as done, after the database has committed it. */
  acknowledge(token: DrainToken): Promise<void>
  /** The position of each directory that the database should have. */
  positions(): ReadonlyMap<string, Cursor>
  /**
   * Follows the database to its position in a directory. If that is behind, as after a failover
   * that lost commits, records are drained again as far as they are kept.
   *
   * @returns number of records that turned out to be in the database
   */
  follow(spoolId: string, stored: Cursor): Promise<number>
  /** Stores records that the database rejects in a file of their own, before the acknowledgement. */
  quarantine(records: readonly RecordV4[], reason: string): Promise<void>
  readonly stats: SpoolStats
  /** Called after records were appended. */
  onAppend(listener: () => void): void
}
