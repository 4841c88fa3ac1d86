import type { Environment } from '../auth/caller.ts'

/** A scoring endpoint as it is created; its id is also its slug. */
export interface NewDeployment {
  readonly id: string
  readonly teamId: string
  readonly name: string
  readonly environment: Environment
  readonly isActive: boolean
  readonly championModelId: string
  readonly shadowMode: boolean
  /** Rises by one with each change that can alter an answer. */
  readonly cacheVersion: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A model as deployments speak of it. */
export interface ModelRef {
  readonly id: string
  readonly name: string
  readonly version: string
}

/** A model that might become a challenger. */
export interface Candidate extends ModelRef {
  readonly environment: Environment
  readonly status: 'active' | 'archived'
}

/** A model that scores beside the champion; its id is not that of the model. */
export interface Challenger {
  readonly id: string
  readonly model: ModelRef
  /** Percent of the subjects. */
  readonly trafficPct: number
  readonly isActive: boolean
  readonly addedAt: Date
  /** See `allotBuckets`. */
  readonly bucketRanges: readonly number[]
}

/** A deployment with the models behind it. */
export interface Deployment {
  readonly id: string
  readonly teamId: string
  readonly name: string
  readonly environment: Environment
  readonly isActive: boolean
  readonly champion: ModelRef
  /** Where a rollback leads; null as long as there was only one champion. */
  readonly previousChampion: ModelRef | null
  readonly shadowMode: boolean
  readonly cacheVersion: number
  readonly createdAt: Date
  /** Active ones, oldest first. */
  readonly challengers: readonly Challenger[]
}

/** What the audit log keeps of a deployment: enough to repeat every draw. */
export function auditedState(deployment: Deployment): object {
  return {
    name: deployment.name,
    is_active: deployment.isActive,
    champion_model_id: deployment.champion.id,
    previous_champion_model_id: deployment.previousChampion?.id ?? null,
    shadow_mode: deployment.shadowMode,
    cache_version: deployment.cacheVersion,
    challengers: deployment.challengers
      .filter(({ isActive }) => isActive)
      .map(({ id, model, trafficPct, bucketRanges }) => ({
        id,
        model_id: model.id,
        traffic_pct: trafficPct,
        bucket_ranges: bucketRanges,
      })),
  }
}
