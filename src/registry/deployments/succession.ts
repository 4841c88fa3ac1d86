import { TRAFFIC_PCT_MAX } from '../../../schemas/deployments.ts'
import { AppError, type ErrorDetail } from '../../errors.ts'
import type { AuditAction } from '../../identity/audit/record.ts'
import { allotBuckets } from './buckets.ts'
import type { AlarmLevels, Candidate, Challenger, Deployment, ModelRef } from './deployment.ts'
import type { FeatureChange } from './feature-change.ts'

/** The next state of a deployment; the store compares it with the present one. */
export interface Change {
  readonly action: AuditAction
  /** Challenger entry that the change adds, updates or removes; null for other changes. */
  readonly challengerId: string | null
  /** Its `challengers` include those that the change deactivates. */
  readonly next: Deployment
  readonly reason?: string
  /** Puts a reason baseline in force for a model of the deployment. */
  readonly reasonBaseline?: ReasonBaselineChange
  /** Sets the levels of its alarm. */
  readonly alarm?: AlarmChange
  /** The change in what callers send; absent when they go on as before. */
  readonly features?: FeatureChange
  /** Approved change requests that it takes away without an approval. */
  readonly undoneRequestIds?: readonly string[]
}

interface ReasonBaselineChange {
  readonly modelId: string
  readonly baselineId: string
  /** That in force before; null: none was. */
  readonly replacedId: string | null
}

interface AlarmChange {
  /** Null if they were never set. */
  readonly before: AlarmLevels | null
  readonly after: AlarmLevels
}

interface NewChallenger {
  readonly id: string
  readonly model: Candidate
  readonly trafficPct: number
  readonly addedAt: Date
  /** Mode of the deployment after the change. */
  readonly shadowMode: boolean
}

/** Bounds the cost of a request: in shadow mode every challenger scores it. */
const CHALLENGERS_MAX = 10

/** Absorbs the rounding error in a sum of percentages. */
const ROUNDING = 1e-9

/**
 * Adds a challenger.
 *
 * @param limitPct maximum total percentage of the challengers; shadow mode has no maximum
 * @throws AppError `invalid_traffic_config`
 */
export function addChallenger(
  deployment: Deployment,
  { model, shadowMode, ...entry }: NewChallenger,
  limitPct: number,
): Change {
  const reason = ineligibility(deployment, model)
  if (reason !== null) throw trafficFault([{ path: 'model_id', message: reason }])
  // A deployment that had more challengers before this bound existed keeps them.
  if (deployment.challengers.length >= CHALLENGERS_MAX) {
    const message = `can't be added: a deployment takes at most ${CHALLENGERS_MAX} active challengers and has ${deployment.challengers.length}, remove one first`
    throw trafficFault([{ path: 'model_id', message }])
  }
  const challenger = { ...entry, model, isActive: true, bucketRanges: [] }
  const challengers = withBuckets([...deployment.challengers, challenger], limitPct, 'traffic_pct')
  const next = { ...deployment, shadowMode, challengers }
  return change('deployment.add_challenger', next, entry.id)
}

/** @throws AppError `challenger_not_found` */
export function removeChallenger(deployment: Deployment, challengerId: string): Change {
  const { id } = findChallenger(deployment, challengerId)
  const challengers = deployment.challengers.map((challenger) =>
    challenger.id === id ? { ...challenger, isActive: false } : challenger,
  )
  return change('deployment.remove_challenger', { ...deployment, challengers }, id)
}

/** @throws AppError `challenger_not_found`, `invalid_traffic_config` */
export function updateTraffic(
  deployment: Deployment,
  challengerId: string,
  trafficPct: number,
): Change {
  const { id } = findChallenger(deployment, challengerId)
  const changed = deployment.challengers.map((challenger) =>
    challenger.id === id ? { ...challenger, trafficPct } : challenger,
  )
  const challengers = withBuckets(changed, TRAFFIC_PCT_MAX, 'traffic_pct')
  return change('deployment.update_traffic', { ...deployment, challengers }, id)
}

/** @throws AppError `invalid_traffic_config` for a live split above the limit */
export function toggleShadow(deployment: Deployment, shadowMode: boolean): Change {
  const limitPct = shadowMode ? Number.POSITIVE_INFINITY : TRAFFIC_PCT_MAX
  const challengers = withBuckets(deployment.challengers, limitPct, 'shadow_mode')
  return change('deployment.toggle_shadow', { ...deployment, shadowMode, challengers })
}

/**
 * Makes a challenger's model the champion. A rollback restores the old champion.
 *
 * @throws AppError `challenger_not_found`
 */
export function promote(
  deployment: Deployment,
  challengerId: string,
  reason: string | undefined,
): Change {
  const { model } = findChallenger(deployment, challengerId)
  return {
    ...change('deployment.promote', withNewChampion(deployment, model)),
    ...(reason !== undefined && { reason }),
  }
}

/**
 * Swaps the champion with the previous champion.
 *
 * @throws AppError `no_rollback_target`
 */
export function rollBack(deployment: Deployment, reason: string | undefined): Change {
  const { previousChampion } = deployment
  if (previousChampion === null) {
    throw new AppError(
      'no_rollback_target',
      'the deployment never had another champion: there is nothing to roll back to',
    )
  }
  return {
    ...change('deployment.rollback', withNewChampion(deployment, previousChampion)),
    ...(reason !== undefined && { reason }),
  }
}

/** Measures the reasons of a model against another baseline. */
export function setReasonBaseline(
  deployment: Deployment,
  reasonBaseline: ReasonBaselineChange,
): Change {
  return { ...change('deployment.set_reason_baseline', deployment), reasonBaseline }
}

/** Sets the levels of the alarm, which alter no score. */
export function setAlarm(deployment: Deployment, alarm: AlarmChange): Change {
  return { action: 'deployment.set_alarm', challengerId: null, next: deployment, alarm }
}

/**
 * Finds an active challenger by its entry id.
 *
 * @throws AppError `challenger_not_found`
 */
export function findChallenger(deployment: Deployment, challengerId: string): Challenger {
  const found = deployment.challengers.find(({ id }) => id === challengerId)
  if (found !== undefined) return found
  throw new AppError(
    'challenger_not_found',
    'the deployment has no active challenger with this id: give the id of the entry, not of the model',
  )
}

export function trafficFault(details: readonly ErrorDetail[]): AppError {
  const [first] = details
  const where = first === undefined || first.path === '' ? 'the body' : first.path
  return new AppError('invalid_traffic_config', `${where} ${first?.message ?? 'is wrong'}`, {
    details,
  })
}

/** Increases `cacheVersion`, because each of these changes can alter an answer. */
function change(action: AuditAction, next: Deployment, challengerId: string | null = null): Change {
  return { action, challengerId, next: { ...next, cacheVersion: next.cacheVersion + 1 } }
}

function withNewChampion(deployment: Deployment, champion: ModelRef): Deployment {
  return {
    ...deployment,
    champion,
    previousChampion: deployment.champion,
    challengers: deployment.challengers.map((challenger) => ({ ...challenger, isActive: false })),
  }
}

/** Reason why a model can't become a challenger, or null. */
function ineligibility(deployment: Deployment, model: Candidate): string | null {
  if (model.status === 'archived') return 'names an archived model: set it to active first'
  if (model.environment !== deployment.environment) {
    return `names a model for ${model.environment}, but the deployment is for ${deployment.environment}`
  }
  if (model.id === deployment.champion.id) return 'names the champion itself'
  const isThere = deployment.challengers.some((challenger) => challenger.model.id === model.id)
  return isThere ? 'names a model that is an active challenger already' : null
}

/**
 * Allots the buckets of the challengers.
 *
 * @param path request field to name in the error if the percentages exceed the limit
 * @throws AppError `invalid_traffic_config`
 */
function withBuckets(
  challengers: readonly Challenger[],
  limitPct: number,
  path: string,
): Challenger[] {
  const totalPct = challengers.reduce((sum, { trafficPct }) => sum + trafficPct, 0)
  if (totalPct > limitPct + ROUNDING) {
    const message = `would bring the challengers to ${+totalPct.toFixed(6)} percent together, above ${limitPct}`
    throw trafficFault([{ path, message }])
  }
  const ranges = allotBuckets(challengers)
  return challengers.map((challenger, index) => ({
    ...challenger,
    bucketRanges: ranges[index] ?? [],
  }))
}
