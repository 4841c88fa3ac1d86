/** What maintenance asks of the database. */
export interface KeyMaintenanceStore {
  /** Removes expired keys, the oldest first; @returns how many */
  removeExpired(rowsMax: number): Promise<number>
  /** Removes the counts of what has expired. */
  removeOldUsage(): Promise<void>
  /** Size of the table on disk, which does not shrink. */
  bytes(): Promise<number>
  /** Size of the answers alone; it reads the whole table. */
  keptBytes(): Promise<number>
  /** For a database without autovacuum. */
  vacuum(): Promise<void>
}

interface MaintenanceOptions {
  readonly store: KeyMaintenanceStore
  readonly hasAutovacuum: boolean
  /** Answers that are kept at most, over all teams and replicas. */
  readonly bytesMax: number
  /** Receives whether no more answers may be kept. */
  readonly onRoom: (isFull: boolean) => void
  readonly onFailure: (error: unknown) => void
}

const EVERY_MS = 60_000
/** Rows of a statement, so that it ends soon. */
const PORTION_ROWS = 1_000
/** Removes 500 keys a second if it has to. The rest waits for the next round. */
const PORTIONS_MAX = 30
/** Vacuum reads the whole table. */
const VACUUM_EVERY_ROUNDS = 60

/**
 * Removes expired idempotency keys in portions, once a minute in each replica. Rounds that run at
 * the same time remove different rows. It also finds out whether more answers may be kept: at the
 * bound requests are executed without being kept, and say so.
 */
export class KeyMaintenance {
  private readonly options: MaintenanceOptions
  private readonly timer: NodeJS.Timeout
  private round: Promise<void> | null = null
  private rounds = 0

  constructor(options: MaintenanceOptions) {
    this.options = options
    const next = () => {
      this.round ??= this.runOnce().finally(() => {
        this.round = null
      })
    }
    this.timer = setInterval(next, EVERY_MS).unref()
  }

  /** One round; never rejects. */
  async runOnce(): Promise<void> {
    const { store, hasAutovacuum, bytesMax, onRoom, onFailure } = this.options
    try {
      for (let portion = 0; portion < PORTIONS_MAX; portion++) {
        if ((await store.removeExpired(PORTION_ROWS)) < PORTION_ROWS) break
      }
      await store.removeOldUsage()
      // The table does not shrink: at its bound it may be full of room that is free again.
      const mayBeFull = (await store.bytes()) >= bytesMax
      onRoom(mayBeFull && (await store.keptBytes()) >= bytesMax / 2)
      if (!hasAutovacuum && this.rounds++ % VACUUM_EVERY_ROUNDS === 0) await store.vacuum()
    } catch (error) {
      onFailure(error)
    }
  }

  /** Waits for the running round and starts no other. */
  async close(): Promise<void> {
    clearInterval(this.timer)
    await this.round
  }
}
