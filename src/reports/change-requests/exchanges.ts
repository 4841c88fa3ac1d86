import type { ChangeRequest } from '../../registry/deployments/approval.ts'
import type { AuditedState } from '../../registry/deployments/deployment.ts'

/** Share of the applicants that a model answers, in percent. */
export interface ModelShare {
  readonly modelId: string
  readonly beforePct: number
  readonly afterPct: number
}

/** Applicants that a change moves from one model to another. */
export interface ModelExchange {
  readonly fromModelId: string
  /** Null: no model answers any more. */
  readonly toModelId: string | null
  /** Part of all applicants, in percent. */
  readonly movedPct: number
}

/** Absorbs the rounding error in a sum of percentages. */
const ROUNDING = 1e-9

/** Models that answer before or after. */
export function sharesBetween(before: AuditedState, after: AuditedState): ModelShare[] {
  const [was, willBe] = [computeShares(before), computeShares(after)]
  return [...new Set([...was.keys(), ...willBe.keys()])].map((modelId) => ({
    modelId,
    beforePct: was.get(modelId) ?? 0,
    afterPct: willBe.get(modelId) ?? 0,
  }))
}

/**
 * Which models take over from which. A change either gives the applicants of several models to one,
 * or those of one to several: challengers take theirs from the champion only.
 *
 * @returns the largest exchange first; none for a deployment that is switched on, and for a change
 *   that concerns no model
 */
export function listExchanges(
  request: ChangeRequest,
  shares: readonly ModelShare[],
): readonly ModelExchange[] {
  const { before, after } = request
  const losing = shares.filter((one) => one.afterPct < one.beforePct - ROUNDING)
  const gaining = shares.filter((one) => one.afterPct > one.beforePct + ROUNDING)
  const [loser] = losing
  const [gainer] = gaining
  if (before.is_active && !after.is_active) {
    return largestFirst(losing, ({ modelId }) => ({ fromModelId: modelId, toModelId: null }))
  }
  if (gainer !== undefined && gaining.length === 1) {
    const toModelId = gainer.modelId
    return largestFirst(losing, ({ modelId }) => ({ fromModelId: modelId, toModelId }))
  }
  if (loser !== undefined && losing.length === 1) {
    const fromModelId = loser.modelId
    return largestFirst(gaining, ({ modelId }) => ({ fromModelId, toModelId: modelId }))
  }
  return inShadow(request)
}

function largestFirst(
  shares: readonly ModelShare[],
  exchange: (share: ModelShare) => Omit<ModelExchange, 'movedPct'>,
): ModelExchange[] {
  return shares
    .map((one) => ({ ...exchange(one), movedPct: Math.abs(one.afterPct - one.beforePct) }))
    .toSorted((a, b) => b.movedPct - a.movedPct)
}

/** A challenger that answers nobody yet is compared with the champion all the same. */
function inShadow({ before, after, order }: ChangeRequest): ModelExchange[] {
  if (!('challengerId' in order)) return []
  const entries = [...after.challengers, ...before.challengers]
  const entry = entries.find(({ id }) => id === order.challengerId)
  if (entry === undefined) return []
  return [{ fromModelId: before.champion_model_id, toModelId: entry.model_id, movedPct: 0 }]
}

/** Percent of the applicants that each model answers; none while the deployment is off. */
function computeShares(state: AuditedState): Map<string, number> {
  const { challengers, champion_model_id: champion, is_active: isActive } = state
  if (!isActive) return new Map()
  const live = state.shadow_mode ? [] : challengers
  const rest = live.reduce((sum, { traffic_pct }) => sum - traffic_pct, 100)
  return new Map([
    [champion, rest],
    ...live.map(({ model_id, traffic_pct }) => [model_id, traffic_pct] as const),
  ])
}
