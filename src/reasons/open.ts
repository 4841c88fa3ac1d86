import type { DeploymentService } from '../deployments/service.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import type { ScoreReadingService } from '../reading/service.ts'
import type { StoredModels } from '../score-log/reading/stored-models.ts'
import { ExplanationService } from './explanation.ts'
import type { ReasonScans } from './scans.ts'
import { ReasonService } from './service.ts'
import { PostgresReasonStore } from './store.ts'

interface ReasonsOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly scans: ReasonScans
  readonly models: StoredModels
  readonly deployments: DeploymentService
  readonly scoreReading: ScoreReadingService
  readonly clock: Clock
}

export interface ReasonServices {
  readonly reasons: ReasonService
  readonly explanations: ExplanationService
}

/** Wires the baselines of reasons and the explanations of logged scores. */
export function openReasons(options: ReasonsOptions): ReasonServices {
  const { db, guarded, scans, models, deployments, scoreReading, clock } = options
  const store = guarded(new PostgresReasonStore(db))
  return {
    reasons: new ReasonService({
      store,
      scans,
      models,
      deployments,
      visible: scoreReading,
      clock,
    }),
    explanations: new ExplanationService({
      scores: scoreReading,
      baseline: (baselineId) => store.baseline(baselineId),
    }),
  }
}
