import { AppError } from '../../errors.ts'
import type { LostBlock } from '../archive/archived-blocks.ts'
import type { CountsTaker } from './result-counts.ts'

/**
 * Which blocks to read.
 *
 * A block holds requests of one hour of UTC. Blocks overlap: two replicas write at the same time.
 * Read newest first, no block of the same or an earlier hour holds a request after its `lastAtMs`.
 *
 * The iterators list the blocks of one hour at a time and then read a bounded number of bytes at a
 * time. Each request of a listed hour comes exactly once, also when blocks are merged meanwhile:
 * merged blocks stay readable for three hours. A reader that takes longer over an hour of the log
 * and meets a block that has gone fails with the AppError `unavailable`.
 */
export interface BlockQuery {
  /** Blocks that hold a request of this deployment, and by a rare accident of the hash others. */
  readonly deploymentId?: string
  /** Blocks that may hold this reference of the team: about one block in a hundred more. */
  readonly reference?: { readonly teamId: string; readonly reference: string }
  /** Blocks with a request in this range; a block also holds requests around it. */
  readonly fromMs: number
  readonly toMs: number
  /** By hours of UTC, and within an hour by `firstAtMs`, or by `lastAtMs` from the newest on. */
  readonly order: 'oldest' | 'newest'
  /** Also blocks whose requests a merged block holds, too. */
  readonly withSuperseded?: boolean
  /** Refuses to leave out a day that retention removed while it was read. */
  readonly isWhole?: boolean
  /** False leaves the sources out, which only proofs need: they are then empty. */
  readonly hasSources?: boolean
  /** A taker of counts, and the team whose they are: blocks whose counts it takes do not come. */
  readonly counts?: {
    readonly teamId: string
    /** Asked for each part of the list; null takes none. */
    readonly open: () => CountsTaker | null
  }
  /**
   * Receives each block whose file in the archive is missing or too short; the reader goes on.
   * Absent: it fails with the AppError `unavailable`.
   */
  readonly onLost?: (lost: LostBlock) => void
}

/** The error of who reads over an hour of the log for longer than merged blocks stay. */
export function rewritten(): AppError {
  const message = 'the log was rewritten while it was read: read this period again'
  return new AppError('unavailable', message)
}

/** The error of a whole reading of a day that retention has removed meanwhile. */
export function leftTheLog(): AppError {
  const message =
    'a day of the period left the log while it was read, because its retention ended: ask again'
  return new AppError('unavailable', message)
}
