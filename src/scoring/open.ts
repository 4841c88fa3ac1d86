import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import type { ScoreLog } from '../score-log/score-log.ts'
import { BatchThreads } from './batch-threads/batch-threads.ts'
import { ChallengerFailures, type FaultLog } from './challenger-failures.ts'
import { ServingCache } from './model-cache.ts'
import { ScoringService } from './service.ts'
import { PostgresServingStore } from './store.ts'

interface ScoringOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly clock: Clock
  /** How long a deployment is served without a check, and while the database is unavailable. */
  readonly ttlMs: number
  readonly unavailableTtlMs: number
  readonly log: ScoreLog
  /** Receives each failure of a challenger. */
  readonly onChallengerFailed: FaultLog
  /** Number of threads for batches. */
  readonly batchThreads: number
  /** Called if such a thread ends by itself or can't be started. */
  readonly onBatchThreadCrash: (error: unknown) => void
}

/** Wires scoring with what it keeps in memory. */
export function openScoring(options: ScoringOptions) {
  const { db, guarded, clock, ttlMs, unavailableTtlMs, log, onChallengerFailed } = options
  const challengerFailures = new ChallengerFailures(clock, onChallengerFailed)
  const serving = guarded(new PostgresServingStore(db))
  const cache = new ServingCache({
    store: serving,
    clock,
    ttlMs,
    unavailableTtlMs,
    challengerFaults: challengerFailures,
  })
  const scoring = new ScoringService({ cache, challengerFailures, log, clock })
  const batchThreads = new BatchThreads({
    threads: options.batchThreads,
    source: serving,
    singles: () => scoring.singles,
    onCrash: options.onBatchThreadCrash,
  })
  return { scoring, serving, cache, challengerFailures, batchThreads }
}
