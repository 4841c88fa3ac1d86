import { type ChangeRequest, type RequestedState, shownState } from './approval.ts'
import type { Challenger } from './deployment.ts'
import type { FeatureChange } from './feature-change.ts'
import type { Outcome, Succession } from './service.ts'

/** Parts of responses that `/v1` and `/api/v1` share; they differ in the name of a deployment. */

export function trafficChallenger({ id, model, trafficPct, isActive }: Challenger) {
  return { id, model_id: model.id, traffic_pct: trafficPct, is_active: isActive }
}

/** The property `features` of an answer, where callers have to send something else. */
export function featuresField(features: FeatureChange | undefined) {
  if (features === undefined) return {}
  return { features: { added: [...features.added], removed: [...features.removed] } }
}

export function promotedAnswer({ before, after, deactivatedCount, features }: Succession) {
  return {
    promoted_model_id: after.champion.id,
    previous_champion_id: before.champion.id,
    challengers_deactivated: deactivatedCount,
    cache_version: after.cacheVersion,
    ...featuresField(features),
  }
}

export function rolledBackAnswer({ before, after, deactivatedCount, features }: Succession) {
  return {
    rolled_back_from: { model_id: before.champion.id, version: before.champion.version },
    rolled_back_to: { model_id: after.champion.id, version: after.champion.version },
    challengers_deactivated: deactivatedCount,
    cache_version: after.cacheVersion,
    ...featuresField(features),
  }
}

/** A request for approval; one whose time is over is shown as expired. */
export function changeRequestAnswer(request: ChangeRequest, nowMs: number) {
  return {
    id: request.id,
    deployment_id: request.deploymentId,
    action: request.order.action,
    state: shownState(request, nowMs),
    cache_version: request.cacheVersion,
    before: stateAnswer(request.before),
    after: stateAnswer(request.after),
    reason: request.reason,
    requested_by: request.requestedBy,
    created_at: request.createdAt.toISOString(),
    expires_at: request.expiresAt.toISOString(),
    decided_by: request.decidedBy,
    decided_at: request.decidedAt?.toISOString() ?? null,
    comment: request.comment,
    applied_cache_version: request.appliedVersion,
    ...featuresField(request.after.features),
  }
}

/** Answers with what a change did, or with 202 and the request that waits for a second person. */
export function outcomeAnswer<Done, Answer>(
  outcome: Outcome<Done>,
  reply: { code(status: 202): unknown },
  answer: (done: Done) => Answer,
) {
  if ('done' in outcome) return answer(outcome.done)
  reply.code(202)
  const { waiting } = outcome
  return changeRequestAnswer(waiting, waiting.createdAt.getTime())
}

function stateAnswer({ challengers, features: _features, ...state }: RequestedState) {
  return {
    ...state,
    challengers: challengers.map(({ id, model_id, traffic_pct }) => ({
      id,
      model_id,
      traffic_pct,
    })),
  }
}
