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
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly decidedBy: string | null
  readonly decidedAt: Date | null
  readonly comment: string | null
  /** `cacheVersion` that the change led to. */
  readonly appliedVersion: number | null
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
 * shown to whoever makes or rotates it, so it proves no second person.
 *
 * @throws AppError `own_change_request`
 */
export function refuseRequester({ requesters }: ChangeRequest, userId: string): void {
  const isPerson = userId.startsWith('usr_')
  if (isPerson && !requesters.includes(userId)) return
  const message = isPerson
    ? "who asked for a change can't decide on it: ask another owner or admin"
    : "a service account can't decide on a change: a person has to"
  throw new AppError('own_change_request', message)
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
  const message = `the change request is ${ended} already: make the request anew if it is still wanted`
  throw new AppError('change_request_closed', message)
}

/** The state that a request shows: one whose time is over counts as expired at once. */
export function shownState({ state, expiresAt }: ChangeRequest, nowMs: number): ChangeRequestState {
  return state === 'waiting' && expiresAt.getTime() <= nowMs ? 'expired' : state
}

export function outdated(): AppError {
  return new AppError(
    'change_outdated',
    'the deployment has changed since the request: look at its present state, and request anew',
  )
}

/** The same for a request that is absent and for one of another team. */
export function changeRequestNotFound(): AppError {
  return new AppError('change_request_not_found', 'there is no change request with this id')
}
