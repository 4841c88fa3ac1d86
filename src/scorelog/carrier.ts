import type { SpoolStretch } from './reader.ts'

/** What of a stretch is in the log now. */
export interface Carried {
  /** Offset in the file behind the last record. */
  readonly end: number
  readonly records: number
  /** Of these the ones that were not in the log before, and their results of all models. */
  readonly addedRecords: number
  readonly addedResults: number
  /** When the last of them was scored. */
  readonly newestAtMs: number
  /** More could not be taken at once. */
  readonly isFull: boolean
}

/**
 * Carries records into the database apart from the thread that answers. It knows the usual way alone: sound
 * records that the database takes.
 */
export interface Carrier {
  /**
   * Stores the first records of a stretch, all in one transaction.
   *
   * @returns null when it did not: what is wrong, and whether they are in the log by now, is left to the drain
   */
  carry(stretch: SpoolStretch): Promise<Carried | null>
  close(): Promise<void>
}
