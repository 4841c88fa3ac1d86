import type { PresentManager } from '../access/manager.ts'
import { AppError } from '../errors.ts'
import type { AuditedState, Deployment } from './deployment.ts'
import type { DeploymentOrder } from './order.ts'

export type ChangeRequestState = 'waiting' | 'approved' | 'declined' | 'expired' | 'outdated'

/** A change that waits, or waited, for a second person. */
export interface ChangeRequest {
  readonly id: string
  readonly teamId: string
  readonly deploymentId: string
  readonly order: DeploymentOrder
  readonly state: ChangeRequestState
  /** State of the deployment that it was made for. */
  readonly cacheVersion: number
  readonly before: AuditedState
  readonly after: AuditedState
  readonly reason: string | null
  readonly requestedBy: string
  /** Everybody who may hold the credentials that asked; none of them decides. */
  readonly requesters: readonly string[]
  /** Their addresses: who leaves the team and joins it again has another id. */
  readonly requesterEmails: readonly string[]
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly decidedBy: string | null
  readonly decidedAt: Date | null
  readonly comment: string | null
  /** `cacheVersion` that the change led to. */
  readonly appliedVersion: number | null
}

/** Everybody who may hold the credentials that ask for a change. */
export interface Requesters {
  readonly ids: readonly string[]
  readonly emails: readonly string[]
}

/** Requests that wait for one deployment. */
export const WAITING_MAX = 20

/**
 * Whether an order waits for a second person on a deployment that requires approval: whatever
 * changes its models, shares or mode, switches it on or off, or loosens the requirement itself. A
 * new name or strict mode alone does not.
 */
export function waitsForApproval(order: DeploymentOrder, present: Deployment): boolean {
  if (!present.requireApproval) return false
  if (order.action !== 'update') return true
  const { isActive, requireApproval, emergencyRollback } = order.settings
  return (
    (isActive ?? present.isActive) !== present.isActive ||
    requireApproval === false ||
    (emergencyRollback ?? present.emergencyRollback) !== present.emergencyRollback
  )
}

/**
 * Refuses whoever must not decide on a request. A service account never decides: its token is
 * shown to whoever makes or rotates it, so it proves no second person. Nor does a member who joined
 * after the request: they may be the requester, who left the team and joined it again.
 *
 * @param decider the member as they are now
 * @throws AppError `own_change_request`
 */
export function refuseRequester(
  { requesters, requesterEmails, createdAt }: ChangeRequest,
  userId: string,
  { email, since }: Pick<PresentManager, 'email' | 'since'>,
): void {
  if (!userId.startsWith('usr_')) {
    throw ownRequest("a service account can't decide on a change: an owner or admin must")
  }
  if (requesters.includes(userId) || (email !== null && requesterEmails.includes(email))) {
    throw ownRequest(
      "you can't decide on a change that you or your service account asked for: ask another owner or admin",
    )
  }
  if (since.getTime() > createdAt.getTime()) {
    const message = 'you joined the team after this change was asked for'
    throw ownRequest(`${message}: ask an owner or admin who was there before`)
  }
}

/**
 * Refuses a decision on a request that is closed.
 *
 * @throws AppError `change_outdated`, `change_request_closed`
 */
export function requireWaiting({ state, expiresAt }: ChangeRequest, nowMs: number): void {
  if (state === 'waiting' && expiresAt.getTime() > nowMs) return
  if (state === 'outdated') throw outdated()
  const ended = state === 'waiting' ? 'expired' : state
  const message = `the change request is already ${ended}: ask for the change again if you still want it`
  throw new AppError('change_request_closed', message)
}

/** The state that a request shows: one whose time is over counts as expired at once. */
export function shownState({ state, expiresAt }: ChangeRequest, nowMs: number): ChangeRequestState {
  return state === 'waiting' && expiresAt.getTime() <= nowMs ? 'expired' : state
}

function ownRequest(message: string): AppError {
  return new AppError('own_change_request', message)
}

export function outdated(): AppError {
  return new AppError(
    'change_outdated',
    'the deployment has changed since the request: look at its present state, and ask for the change again',
  )
}

/** The same for a request that is absent and for one of another team. */
export function changeRequestNotFound(): AppError {
  return new AppError('change_request_not_found', 'there is no change request with this id')
}
