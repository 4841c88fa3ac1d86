import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import { LogThrottle } from '../platform/log-throttle.ts'
import type { openLogReader } from '../score-log/reading/open-reader.ts'
import { LogErasureService } from './erasure/service.ts'
import { LogExportService } from './export/service.ts'
import { ScoreReadingService } from './service.ts'
import { PostgresReadingStore } from './store.ts'

type UnequalResult = Parameters<
  ConstructorParameters<typeof ScoreReadingService>[0]['onUnequal']
>[0]

interface ReadingOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  /** What reads the log for all requests. */
  readonly logReader: ReturnType<typeof openLogReader>
  readonly clock: Clock
  /** What else holds references. */
  readonly others: ConstructorParameters<typeof LogErasureService>[0]['others']
  /** Receives a logged score that is not what its bins give, at most every 10 s for a model. */
  readonly onUnequal: (result: UnequalResult, count: number) => void
}

export interface ReadingServices {
  readonly scoreReading: ScoreReadingService
  readonly logErasures: LogErasureService
  readonly logExports: LogExportService
}

/** Wires what reads the log back, exports it and erases from it. */
export function openReading(options: ReadingOptions): ReadingServices {
  const { db, guarded, logReader, clock, others, onUnequal } = options
  const { reader, models, eraser } = logReader
  const store = guarded(new PostgresReadingStore(db))
  const unequal = new LogThrottle(clock)
  return {
    scoreReading: new ScoreReadingService({
      reader,
      models,
      store,
      clock,
      onUnequal: (result) => {
        const count = unequal.hit(result.modelId)
        if (count > 0) onUnequal(result, count)
      },
    }),
    logErasures: new LogErasureService({ eraser, store, clock, others }),
    logExports: new LogExportService({ reader, models, store, clock }),
  }
}
