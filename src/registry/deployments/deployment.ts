import type { Environment } from '../../http/access/caller.ts'

/** A new scoring endpoint; its id is also its slug. */
export interface NewDeployment {
  readonly id: string
  readonly teamId: string
  readonly name: string
  readonly environment: Environment
  readonly isActive: boolean
  readonly championModelId: string
  readonly shadowMode: boolean
  readonly strictMode: boolean
  /** Increases by one with each change that can alter a score. */
  readonly cacheVersion: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface ModelRef {
  readonly id: string
  readonly name: string
  readonly version: string
}

/** A model that may become a challenger. */
export interface Candidate extends ModelRef {
  readonly environment: Environment
  readonly status: 'active' | 'archived'
}

/** A challenger entry: a model that scores beside the champion. Its id differs from the model's. */
export interface Challenger {
  readonly id: string
  readonly model: ModelRef
  /** Share of the subjects in percent. */
  readonly trafficPct: number
  readonly isActive: boolean
  readonly addedAt: Date
  /** See `allotBuckets`. */
  readonly bucketRanges: readonly number[]
}

export interface Deployment {
  readonly id: string
  readonly teamId: string
  readonly name: string
  readonly environment: Environment
  readonly isActive: boolean
  readonly champion: ModelRef
  /** The champion after a rollback; null if there was only one champion so far. */
  readonly previousChampion: ModelRef | null
  readonly shadowMode: boolean
  /** Rejects applicants with missing or unknown features, whatever their request says. */
  readonly strictMode: boolean
  /** True if changes of its models and traffic wait for a second person. */
  readonly requireApproval: boolean
  /** True if a rollback with `emergency` need not wait. */
  readonly emergencyRollback: boolean
  /** Present cut-off of the lender: the default of reports, which decides nothing. */
  readonly cutoff: number | null
  readonly cacheVersion: number
  readonly createdAt: Date
  /** Active challengers, oldest first. */
  readonly challengers: readonly Challenger[]
}

/** From when on the stability of a deployment is an alarm. */
export interface AlarmLevels {
  readonly isOn: boolean
  /** Index from which a shift is moderate, and from which it is major. */
  readonly watch: number
  readonly act: number
  /** Applicants below which there is no verdict. */
  readonly nMin: number
  /** Length of the evaluated period, which ends now. */
  readonly days: number
}

/** Lookups that a change may make within its transaction. */
export interface ChangeReader {
  /** A model of the deployment's team. */
  model(modelId: string): Promise<Candidate | null>
  /** Active models with this version and the champion's name and environment, newest first. */
  modelsOfVersion(deployment: Deployment, version: string): Promise<Candidate[]>
  /**
   * Ids of approved change requests that a rollback of the newest promotion takes away: its own and
   * those since. The newest first. Null if the newest change of the champion was a rollback: then
   * the previous champion is one that was taken away.
   */
  undonePromotion(deployment: Pick<Deployment, 'id'>): Promise<readonly string[] | null>
  /** The levels of the alarm; null if they were never set. */
  alarm(deployment: Pick<Deployment, 'id'>): Promise<AlarmLevels | null>
  /** Id of the reason baseline in force for a model; null if none is. */
  reasonBaseline(deployment: Pick<Deployment, 'id'>, modelId: string): Promise<string | null>
  /** Names of the features of models, in the order of each specification, by the model's id. */
  featureNames(modelIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
}

/** State of a new deployment in the audit log, beside its name and environment. */
export function createdState(deployment: NewDeployment) {
  return {
    champion_model_id: deployment.championModelId,
    is_active: deployment.isActive,
    strict_mode: deployment.strictMode,
    // The default of the table.
    require_approval: false,
    cache_version: deployment.cacheVersion,
  }
}

/** State of a deployment in the audit log: enough to recompute every assignment. */
export type AuditedState = ReturnType<typeof auditedState>

/** Levels of an alarm in the audit log. */
export function auditedLevels({ isOn, watch, act, nMin, days }: AlarmLevels) {
  return { is_on: isOn, watch, act, n_min: nMin, days }
}

export function auditedState(deployment: Deployment) {
  return {
    name: deployment.name,
    is_active: deployment.isActive,
    champion_model_id: deployment.champion.id,
    previous_champion_model_id: deployment.previousChampion?.id ?? null,
    shadow_mode: deployment.shadowMode,
    strict_mode: deployment.strictMode,
    require_approval: deployment.requireApproval,
    emergency_rollback: deployment.emergencyRollback,
    cutoff: deployment.cutoff,
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
