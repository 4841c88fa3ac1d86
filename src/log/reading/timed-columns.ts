import type { ScannedColumns } from './columns.ts'

/** In which order of time the log is read. */
export type TimeOrder = 'oldest' | 'newest'

/**
 * The columns of a block of the log. Blocks come by hours of UTC, and within an hour by
 * `firstAtMs`, or by `lastAtMs` from the newest on: what has not come yet holds no scoring of this
 * or a passed hour before that `firstAtMs`, or after that `lastAtMs`.
 */
export interface TimedColumns {
  /** Start of the hour of UTC that holds all its scorings. */
  readonly hourMs: number
  /** When its oldest and its newest scoring were made, to a millisecond. */
  readonly firstAtMs: number
  readonly lastAtMs: number
  /** Decides the order of the log among blocks of the same `firstAtMs`. */
  readonly blockId: number
  /** Bytes of all its columns. */
  readonly bytes: number
  readonly parts: readonly ScannedColumns[]
}
