import type { AuditAction } from '../audit/record.ts'
import { AppError, type ErrorDetail } from '../errors.ts'
import { allotBuckets } from './buckets.ts'
import type { Candidate, Challenger, Deployment, ModelRef } from './deployment.ts'
import { TRAFFIC_PCT_MAX } from './traffic-order.ts'

/** A deployment as it shall be; the store compares it with the present one. */
export interface Change {
  readonly action: AuditAction
  /** Its `challengers` hold those that the change deactivates, too. */
  readonly next: Deployment
  readonly reason?: string
}

interface NewChallenger {
  readonly id: string
  readonly model: Candidate
  readonly trafficPct: number
  readonly addedAt: Date
  /** Whether the deployment is in shadow mode afterwards; there percentages may exceed the limit of a live split. */
  readonly shadowMode: boolean
}

/** Percentages are sums of decimal fractions. */
const ROUNDING = 1e-9

/**
 * Puts a model beside the champion.
 *
 * @param limitPct most that the challengers may have together
 * @throws AppError `invalid_traffic_config`
 */
export function addChallenger(
  deployment: Deployment,
  { model, shadowMode, ...entry }: NewChallenger,
  limitPct: number,
): Change {
  const fault = unfitness(deployment, model)
  if (fault !== null) throw trafficFault([{ path: 'model_id', message: fault }])
  const challenger = { ...entry, model, isActive: true, bucketRanges: [] }
  const challengers = withBuckets([...deployment.challengers, challenger], limitPct, 'traffic_pct')
  return change('deployment.add_challenger', { ...deployment, shadowMode, challengers })
}

/** @throws AppError `challenger_not_found` */
export function removeChallenger(deployment: Deployment, challengerId: string): Change {
  const { id } = challengerOf(deployment, challengerId)
  const challengers = deployment.challengers.map((challenger) =>
    challenger.id === id ? { ...challenger, isActive: false } : challenger,
  )
  return change('deployment.remove_challenger', { ...deployment, challengers })
}

/** @throws AppError `challenger_not_found`, `invalid_traffic_config` */
export function updateTraffic(
  deployment: Deployment,
  challengerId: string,
  trafficPct: number,
): Change {
  const { id } = challengerOf(deployment, challengerId)
  const changed = deployment.challengers.map((challenger) =>
    challenger.id === id ? { ...challenger, trafficPct } : challenger,
  )
  const challengers = withBuckets(changed, TRAFFIC_PCT_MAX, 'traffic_pct')
  return change('deployment.update_traffic', { ...deployment, challengers })
}

/** @throws AppError `invalid_traffic_config` for a live split above the limit */
export function toggleShadow(deployment: Deployment, shadowMode: boolean): Change {
  const limitPct = shadowMode ? Number.POSITIVE_INFINITY : TRAFFIC_PCT_MAX
  const challengers = withBuckets(deployment.challengers, limitPct, 'shadow_mode')
  return change('deployment.toggle_shadow', { ...deployment, shadowMode, challengers })
}

/**
 * Makes a challenger's model the champion; the old champion becomes the one to roll back to.
 *
 * @throws AppError `challenger_not_found`
 */
export function promote(deployment: Deployment, challengerId: string): Change {
  const { model } = challengerOf(deployment, challengerId)
  return change('deployment.promote', crowned(deployment, model))
}

/**
 * Swaps the champion with the one before.
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
    ...change('deployment.rollback', crowned(deployment, previousChampion)),
    ...(reason !== undefined && { reason }),
  }
}

/** The active challenger with this entry id. */
export function challengerOf(deployment: Deployment, challengerId: string): Challenger {
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

/** Each change of this kind can alter an answer. */
function change(action: AuditAction, next: Deployment): Change {
  return { action, next: { ...next, cacheVersion: next.cacheVersion + 1 } }
}

function crowned(deployment: Deployment, champion: ModelRef): Deployment {
  return {
    ...deployment,
    champion,
    previousChampion: deployment.champion,
    challengers: deployment.challengers.map((challenger) => ({ ...challenger, isActive: false })),
  }
}

/** Why a model can't become a challenger; null when it can. */
function unfitness(deployment: Deployment, model: Candidate): string | null {
  if (model.status === 'archived') return 'names an archived model: set it to active first'
  if (model.environment !== deployment.environment) {
    return `names a model for ${model.environment}, the deployment is for ${deployment.environment}`
  }
  if (model.id === deployment.champion.id) return 'names the champion itself'
  const isThere = deployment.challengers.some((challenger) => challenger.model.id === model.id)
  return isThere ? 'names a model that is an active challenger already' : null
}

/** @param path of what to change in the request, where the percentages exceed the limit */
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
