import type { ScoreRecord } from './record.ts'

/** Place in the spool up to which a batch reaches; only the spool looks into it. */
export interface DrainToken {
  readonly directory: string
  readonly segment: number
  readonly offset: number
  readonly records: number
  /** When the last record of the batch was scored, where that is known. */
  readonly newestAtMs?: number
}

/** Part of a segment: records that are not acknowledged. */
export interface SpoolStretch {
  readonly directory: string
  readonly segment: number
  readonly path: string
  readonly offset: number
  /** From the beginning of the file to the end of what may be drained. */
  readonly readableBytes: number
}

/** A record or a stretch of the spool that can't be read; the spool has set it aside. */
export interface Rejected {
  readonly payload: Buffer
  readonly reason: string
}

export interface DrainBatch {
  /** Oldest first. */
  readonly records: readonly ScoreRecord[]
  readonly rejected: readonly Rejected[]
  readonly token: DrainToken
}

export interface SpoolStats {
  /** On disk, of records that are not drained yet and of segments that are not removed yet. */
  readonly bytes: number
  /** Not drained yet; of leftovers of other processes an estimate. */
  readonly records: number
  readonly oldestAgeMs: number | null
}

/** What the drain needs of the spool. */
export interface SpoolReader {
  /** Where `readBatch` will read; null when all is acknowledged, or where records are in no file. */
  oldest(): SpoolStretch | null
  /**
   * The oldest records that are not acknowledged; the same ones again until they are.
   *
   * @param maxRecords most records of a batch
   * @param maxBytes of payload; a record alone may be larger
   */
  readBatch(maxRecords: number, maxBytes: number): Promise<DrainBatch>
  /** After the database has committed: what the batch held is done. */
  acknowledge(token: DrainToken): Promise<void>
  /** Keeps a record that the database refuses in a file of its own, before it is acknowledged. */
  setAside(record: ScoreRecord, reason: string): Promise<void>
  readonly stats: SpoolStats
  /** Called after records were appended. */
  onAppend(listener: () => void): void
}
