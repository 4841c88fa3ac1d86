import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import { LogThrottle } from '../platform/log-throttle.ts'
import { LogErasureService } from './erasure/service.ts'
import { LogExportService } from './export/service.ts'
import { ScoreReadingService } from './service.ts'
import { PostgresReadingStore } from './store.ts'

type ReadingOptions = ConstructorParameters<typeof ScoreReadingService>[0]
type ErasureOptions = ConstructorParameters<typeof LogErasureService>[0]

/** What reads the log back, and takes references out of it. */
export interface ReadingServices {
  readonly scoreReading: ScoreReadingService
  readonly logErasures: LogErasureService
  readonly logExports: LogExportService
}

interface ReadingParts extends Pick<ErasureOptions, 'eraser' | 'others'> {
  readonly db: Database
  /** Gives each call of a store a deadline. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly reader: ReadingOptions['reader'] &
    ConstructorParameters<typeof LogExportService>[0]['reader']
  readonly models: ReadingOptions['models']
  readonly clock: Clock
  readonly log: { error(facts: object, message: string): void }
}

/** Wires these services. */
export function openReading({
  db,
  guarded,
  reader,
  models,
  eraser,
  others,
  clock,
  log,
}: ReadingParts): ReadingServices {
  const store = guarded(new PostgresReadingStore(db))
  const unequal = new LogThrottle(clock)
  const onUnequal: ReadingOptions['onUnequal'] = (result) => {
    const count = unequal.hit(result.modelId)
    if (count > 0) log.error({ ...result, count }, 'a logged score is not what its bins give')
  }
  return {
    scoreReading: new ScoreReadingService({ reader, models, store, clock, onUnequal }),
    logErasures: new LogErasureService({ eraser, store, clock, others }),
    logExports: new LogExportService({ reader, models, store, clock }),
  }
}
