import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import type { OpenLogReader } from '../score-log/reading/open-reader.ts'
import { BlockStats } from './block-stats.ts'
import { LogStats } from './log-stats.ts'
import type { Comparisons } from './model-comparisons.ts'
import { StatsService } from './service.ts'
import { PostgresStatsStore } from './store.ts'

interface StatsOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly logReader: Pick<OpenLogReader, 'blocks' | 'models'>
  readonly comparisons: Comparisons
  readonly clock: Clock
}

/** Wires the statistics of rollups, rows and blocks. */
export function openStats(options: StatsOptions): StatsService {
  const { db, guarded, logReader, comparisons, clock } = options
  const { blocks, models } = logReader
  const store = new LogStats(guarded(new PostgresStatsStore(db)), new BlockStats(blocks, models))
  return new StatsService(store, comparisons, clock)
}
