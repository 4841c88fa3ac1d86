import type { LogPosition } from './log-query.ts'

/** Statements of one search, each over a bounded part of the rows. */
const PARTS_MAX = 5

/**
 * Ends a search of the first form after a few statements, because that form has no index for
 * references. Whoever wants more goes on where the search has stopped.
 */
export class SearchLimit {
  private parts = 0
  private stopped: LogPosition | null = null

  /** The oldest request that was looked at; null while the limit is not reached. */
  get stoppedAt(): LogPosition | null {
    return this.stopped
  }

  /** Counts a statement that has come to this request. @returns whether the search ends there */
  endsAt(position: LogPosition): boolean {
    if (++this.parts >= PARTS_MAX) this.stopped = position
    return this.stopped !== null
  }
}
