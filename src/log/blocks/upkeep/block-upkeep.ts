import type { Clock } from '../../../platform/clock.ts'
import { Periodic } from '../../../platform/periodic.ts'
import type { BlockTables } from './block-tables.ts'

interface BlockUpkeepOptions {
  readonly tables: Pick<BlockTables, 'rollUp' | 'merge' | 'recheck' | 'dropSuperseded'>
  readonly clock: Clock
  readonly onFailed: (error: unknown) => void
}

const EVERY_MS = 60_000
/** Most merged blocks of a round. */
const MERGES_MAX = 100

/** Rolls up and merges blocks, once a minute in each replica. A failed round is tried again. */
export class BlockUpkeep {
  private readonly options: BlockUpkeepOptions
  readonly periodic: Periodic
  /** Failures of rounds since the start. */
  failures = 0

  constructor(options: BlockUpkeepOptions) {
    this.options = options
    const { onFailed } = options
    this.periodic = new Periodic({ round: () => this.run(), everyMs: EVERY_MS, onFailed })
  }

  /** Does one round; never rejects. */
  async run(): Promise<void> {
    await this.attempt(() => this.rollUpAndMerge())
    await this.attempt(() => this.options.tables.recheck())
    // Also when a merge fails again and again: else the table would only grow.
    const { tables, clock } = this.options
    await this.attempt(() => tables.dropSuperseded(clock.epochMs()))
  }

  private async rollUpAndMerge(): Promise<void> {
    const { tables, clock } = this.options
    while (!this.isClosed && (await tables.rollUp()) > 0);
    for (let merges = 0; merges < MERGES_MAX && !this.isClosed; merges++) {
      if ((await tables.merge(clock.epochMs())) === 0) return
    }
  }

  private get isClosed(): boolean {
    return this.periodic.signal.aborted
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
