import type { Challenger } from './deployment.ts'
import type { Succession } from './service.ts'

/** Parts of responses that `/v1` and `/api/v1` share; they differ in the name of a deployment. */

export function trafficChallenger({ id, model, trafficPct, isActive }: Challenger) {
  return { id, model_id: model.id, traffic_pct: trafficPct, is_active: isActive }
}

export function promotedAnswer({ before, after, deactivatedCount }: Succession) {
  return {
    promoted_model_id: after.champion.id,
    previous_champion_id: before.champion.id,
    challengers_deactivated: deactivatedCount,
    cache_version: after.cacheVersion,
  }
}

export function rolledBackAnswer({ before, after, deactivatedCount }: Succession) {
  return {
    rolled_back_from: { model_id: before.champion.id, version: before.champion.version },
    rolled_back_to: { model_id: after.champion.id, version: after.champion.version },
    challengers_deactivated: deactivatedCount,
    cache_version: after.cacheVersion,
  }
}
