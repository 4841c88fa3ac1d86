import { Periodic } from '../../platform/periodic.ts'
import type { IdempotencyStore } from './store.ts'

interface MaintenanceOptions {
  readonly store: IdempotencyStore
  /** Answers that are kept at most, over all teams and replicas. */
  readonly bytesMax: number
  /** Receives whether no more answers may be kept. */
  readonly onRoom: (isFull: boolean) => void
  readonly onFailed: (error: unknown) => void
}

const EVERY_MS = 60_000
/** Rows of a statement, so that it ends soon. */
const PORTION_ROWS = 1_000
/** Removes 500 keys a second if it has to. The rest waits for the next round. */
const PORTIONS_MAX = 30

/**
 * Removes expired idempotency keys in portions, once a minute in each replica. Rounds that run at
 * the same time remove different rows. It also finds out whether more answers may be kept: at the
 * bound requests are executed without being kept, and say so.
 */
export function maintainKeys(options: MaintenanceOptions): Periodic {
  const { store, bytesMax, onRoom, onFailed } = options
  const round = async () => {
    for (let portion = 0; portion < PORTIONS_MAX; portion++) {
      if ((await store.removeExpired(PORTION_ROWS)) < PORTION_ROWS) break
    }
    await store.removeOldUsage()
    // The table does not shrink: at its bound it may be full of room that is free again.
    const mayBeFull = (await store.bytes()) >= bytesMax
    onRoom(mayBeFull && (await store.keptBytes()) >= bytesMax / 2)
  }
  return new Periodic({ round, everyMs: EVERY_MS, onFailed })
}
