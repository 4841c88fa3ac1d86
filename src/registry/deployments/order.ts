import { TRAFFIC_PCT_MAX } from '../../../schemas/deployments.ts'
import { AppError } from '../../errors.ts'
import { isId } from '../../platform/ids.ts'
import type { AlarmLevels, Candidate, ChangeReader, Deployment } from './deployment.ts'
import { compareFeatures, requireAccepted } from './feature-change.ts'
import {
  addChallenger,
  type Change,
  promote,
  removeChallenger,
  rollBack,
  setAlarm,
  setReasonBaseline,
  toggleShadow,
  updateTraffic,
} from './succession.ts'

/** New settings of a deployment; undefined leaves one as it is. */
export interface DeploymentSettings {
  readonly name?: string | undefined
  readonly isActive?: boolean | undefined
  readonly strictMode?: boolean | undefined
  readonly requireApproval?: boolean | undefined
  readonly emergencyRollback?: boolean | undefined
  /** Null: none. */
  readonly cutoff?: number | null | undefined
}

/**
 * A change of a deployment as JSON can keep it: what a request asks for, with ids for everything
 * that it names. The same order makes the change directly and when it has been approved.
 */
export type DeploymentOrder = OrderedAction & {
  /** True if features may be added to a strict deployment. */
  readonly acceptFeatures?: boolean | undefined
}

type OrderedAction =
  | { readonly action: 'update'; readonly settings: DeploymentSettings }
  | {
      readonly action: 'add_challenger'
      /** Id of the new entry. */
      readonly challengerId: string
      readonly modelId: string
      readonly trafficPct: number
      /** Null: as it is. */
      readonly shadowMode: boolean | null
      /** True if all challengers together are bound to 50 percent. */
      readonly isLimited: boolean
    }
  | { readonly action: 'remove_challenger'; readonly challengerId: string }
  | {
      readonly action: 'update_traffic'
      readonly challengerId: string
      readonly trafficPct: number
    }
  | { readonly action: 'toggle_shadow'; readonly shadowMode: boolean }
  | {
      readonly action: 'promote'
      readonly challengerId: string
      readonly reason?: string | undefined
    }
  | { readonly action: 'rollback'; readonly reason?: string | undefined }
  | {
      readonly action: 'set_reason_baseline'
      readonly modelId: string
      readonly baselineId: string
    }
  | { readonly action: 'set_alarm'; readonly levels: AlarmLevels }

/**
 * Derives the change that an order makes of a deployment.
 *
 * @param at when a challenger counts as added
 * @throws AppError `model_not_found`, `challenger_not_found`, `invalid_traffic_config`,
 *   `no_rollback_target`, `features_added`
 */
export async function makeChange(
  order: DeploymentOrder,
  present: Deployment,
  read: ChangeReader,
  at: Date,
): Promise<Change> {
  const change = await changeByAction(order, present, read, at)
  const features = await compareFeatures(present, change.next, read)
  requireAccepted(present, features, order.acceptFeatures === true)
  return features === null ? change : { ...change, features }
}

async function changeByAction(
  order: OrderedAction,
  present: Deployment,
  read: ChangeReader,
  at: Date,
): Promise<Change> {
  switch (order.action) {
    case 'update':
      return updated(present, order.settings)
    case 'add_challenger': {
      const model = await findModel(read, order.modelId)
      const { challengerId: id, trafficPct } = order
      const shadowMode = order.shadowMode ?? present.shadowMode
      const limitPct = order.isLimited ? TRAFFIC_PCT_MAX : Number.POSITIVE_INFINITY
      return addChallenger(present, { id, model, trafficPct, addedAt: at, shadowMode }, limitPct)
    }
    case 'remove_challenger':
      return removeChallenger(present, order.challengerId)
    case 'update_traffic':
      return updateTraffic(present, order.challengerId, order.trafficPct)
    case 'toggle_shadow':
      return toggleShadow(present, order.shadowMode)
    case 'promote':
      return promote(present, order.challengerId, order.reason)
    case 'rollback':
      return rollBack(present, order.reason)
    case 'set_reason_baseline': {
      const { modelId, baselineId } = order
      const replacedId = await read.reasonBaseline(present, modelId)
      return setReasonBaseline(present, { modelId, baselineId, replacedId })
    }
    case 'set_alarm':
      return setAlarm(present, { before: await read.alarm(present), after: order.levels })
  }
}

function updated(present: Deployment, settings: DeploymentSettings): Change {
  const {
    name = present.name,
    isActive = present.isActive,
    strictMode = present.strictMode,
    requireApproval = present.requireApproval,
    emergencyRollback = present.emergencyRollback,
    cutoff = present.cutoff,
  } = settings
  const altersAnswers = isActive !== present.isActive || strictMode !== present.strictMode
  const cacheVersion = present.cacheVersion + (altersAnswers ? 1 : 0)
  const others = { isActive, strictMode, requireApproval, emergencyRollback, cutoff }
  return {
    action: 'deployment.update',
    challengerId: null,
    next: { ...present, name, ...others, cacheVersion },
  }
}

/** @throws AppError `model_not_found` */
export async function findModel(read: ChangeReader, modelId: string): Promise<Candidate> {
  const model = isId(modelId, 'mod_') ? await read.model(modelId) : null
  if (model === null) throw new AppError('model_not_found', 'there is no model with this id')
  return model
}
