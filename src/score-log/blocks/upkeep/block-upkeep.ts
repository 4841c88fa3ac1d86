import type { Clock } from '../../../platform/clock.ts'

/** Changes to stored blocks as time passes. One replica at a time makes them. */
export interface BlockTables {
  /**
   * Adds the sums of new blocks to the rollups.
   *
   * @returns number of blocks; 0 if there is none, or another replica does it
   */
  rollUp(): Promise<number>
  /** The same for blocks of replicas of an older version, which keep their sums elsewhere. */
  rollUpOlder(): Promise<number>
  /**
   * Makes one large block of small ones of an hour that is over.
   *
   * @returns number of small blocks; 0 if there are none, or another replica does it
   */
  merge(nowMs: number): Promise<number>
  /** Deletes blocks whose requests have been in a merged block for some time. */
  dropSuperseded(nowMs: number): Promise<void>
}

export interface BlockUpkeepOptions {
  readonly tables: BlockTables
  readonly clock: Clock
  readonly onFailed: (error: unknown) => void
}

const EVERY_MS = 60_000
/** In these rounds blocks of older versions are looked for: that alone takes 0.2 s to plan. */
const OLDER_EVERY_ROUNDS = 10
/** Most merged blocks of a round. */
const MERGES_MAX = 100

/** Rolls up and merges blocks, once a minute in each replica. A failed round is tried again. */
export class BlockUpkeep {
  private readonly options: BlockUpkeepOptions
  private timer: NodeJS.Timeout | undefined
  private round: Promise<void> = Promise.resolve()
  private isClosed = false
  private rounds = 0
  /** Failures of rounds since the start. */
  failures = 0

  constructor(options: BlockUpkeepOptions) {
    this.options = options
  }

  start(): void {
    this.timer = setTimeout(() => {
      this.round = this.run().finally(() => {
        if (!this.isClosed) this.start()
      })
    }, EVERY_MS).unref()
  }

  /** Waits for the running round and starts no other. */
  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.timer)
    await this.round
  }

  /** One round; never rejects. */
  async run(): Promise<void> {
    await this.attempt(() => this.rollUpAndMerge())
    // Also when a merge fails again and again: else the table would only grow.
    const { tables, clock } = this.options
    await this.attempt(() => tables.dropSuperseded(clock.epochMs()))
  }

  private async rollUpAndMerge(): Promise<void> {
    const { tables, clock } = this.options
    while (!this.isClosed && (await tables.rollUp()) > 0);
    if (this.rounds++ % OLDER_EVERY_ROUNDS === 0) {
      while (!this.isClosed && (await tables.rollUpOlder()) > 0);
    }
    for (let merges = 0; merges < MERGES_MAX && !this.isClosed; merges++) {
      if ((await tables.merge(clock.epochMs())) === 0) return
    }
  }

  private async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.failures++
      this.options.onFailed(error)
    }
  }
}
