import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import type { OpenLogReader } from '../score-log/reading/open-reader.ts'
import { BlockStats } from './block-stats.ts'
import { LogStats } from './log-stats.ts'
import { StatsService } from './service.ts'
import { PostgresStatsStore } from './store.ts'

interface StatsOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly logReader: Pick<OpenLogReader, 'reader' | 'blocks' | 'models'>
  readonly clock: Clock
}

/** Wires the statistics of rollups, rows and blocks. */
export function openStats({ db, guarded, logReader, clock }: StatsOptions): StatsService {
  const { reader, blocks, models } = logReader
  const store = new LogStats(guarded(new PostgresStatsStore(db)), new BlockStats(blocks, models))
  return new StatsService(store, reader, clock)
}
