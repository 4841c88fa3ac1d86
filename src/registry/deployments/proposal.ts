import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../../errors.ts'
import { type Actor, auditRecord } from '../../identity/audit/record.ts'
import { newId } from '../../platform/ids.ts'
import {
  type ChangeRequest,
  type RequestedState,
  type Requesters,
  WAITING_MAX,
} from './approval.ts'
import { auditedLevels, auditedState, type Deployment } from './deployment.ts'
import type { DeploymentOrder } from './order.ts'
import type { Change } from './succession.ts'

interface Proposed {
  readonly order: DeploymentOrder
  readonly present: Deployment
  readonly change: Change
}

/**
 * Describes a change as a request for approval, with its audit record.
 *
 * @returns `propose`, which throws AppError `limit_reached` if too many requests wait
 */
export function newProposal(
  actor: Actor,
  { order, present, change }: Proposed,
  epochMs: number,
  lifeMs: number,
) {
  const request = {
    id: newId('chg_', epochMs),
    teamId: present.teamId,
    deploymentId: present.id,
    order,
    state: 'waiting',
    cacheVersion: present.cacheVersion,
    ...makeStates(present, change),
    reason: change.reason ?? null,
    requestedBy: actor.userId,
    createdAt: new Date(epochMs),
    expiresAt: new Date(epochMs + lifeMs),
    decidedBy: null,
    decidedAt: null,
    comment: null,
    appliedVersion: null,
  } as const
  const audit = auditRecord(
    actor,
    {
      action: 'change_request.create',
      subject: present.id,
      // The request itself, which is never removed, has the states before and after.
      after: {
        change_request_id: request.id,
        action: order.action,
        expires_at: request.expiresAt.toISOString(),
      },
      ...(change.reason !== undefined && { reason: change.reason }),
    },
    epochMs,
  )
  return {
    propose: ({ ids, emails }: Requesters, waitingCount: number) => {
      if (waitingCount >= WAITING_MAX) {
        const message = `${WAITING_MAX} changes of this deployment are waiting for approval: decide on one of them first`
        throw new AppError('limit_reached', message)
      }
      const asked = { ...request, requesters: ids, requesterEmails: emails }
      return { request: asked satisfies ChangeRequest, audit }
    },
  }
}

/** Settings that wait for approval and raise no `cache_version`. */
const UNVERSIONED = ['cutoff', 'alarm', 'require_approval', 'emergency_rollback'] as const

/**
 * Tells whether what a request changes was changed since, at the same `cache_version`: whoever
 * approves it sees another state before the change than there is.
 *
 * @param change what the request would do now
 */
export function isSuperseded(
  { before, after }: ChangeRequest,
  present: Deployment,
  change: Change,
): boolean {
  const now = makeStates(present, change).before
  return UNVERSIONED.some(
    (name) =>
      !isDeepStrictEqual(before[name], after[name]) && !isDeepStrictEqual(before[name], now[name]),
  )
}

/** The deployment before and after a change, with what else the change sets. */
function makeStates(
  present: Deployment,
  { next, features, alarm, reasonBaseline }: Change,
): { readonly before: RequestedState; readonly after: RequestedState } {
  const { modelId: model_id } = reasonBaseline ?? {}
  const baseline = (baseline_id: string | null) =>
    model_id === undefined ? {} : { reason_baseline: { model_id, baseline_id } }
  return {
    before: {
      ...auditedState(present),
      ...(alarm && { alarm: alarm.before && auditedLevels(alarm.before) }),
      ...baseline(reasonBaseline?.replacedId ?? null),
    },
    after: {
      ...auditedState(next),
      ...(features && { features }),
      ...(alarm && { alarm: auditedLevels(alarm.after) }),
      ...baseline(reasonBaseline?.baselineId ?? null),
    },
  }
}
