import type { LogPosition, SearchBound } from './log-query.ts'

/** Statements of one search, each over a bounded part of the rows. */
const PARTS_MAX = 5

/**
 * Ends a search of the first form after a few statements, because that form has no index for
 * references. Whoever wants more goes on where the search has stopped.
 */
export class SearchLimit implements SearchBound {
  private parts = 0
  private stopped: LogPosition | null = null

  get stoppedAt(): LogPosition | null {
    return this.stopped
  }

  endsAt(position: LogPosition): boolean {
    if (++this.parts >= PARTS_MAX) this.stopped = position
    return this.stopped !== null
  }
}
