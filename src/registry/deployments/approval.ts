import type { Static } from '@sinclair/typebox'
import type { PossibleAlone } from '../../../schemas/deployments.ts'
import { AppError } from '../../errors.ts'
import { outranks, type Role } from '../../http/access/caller.ts'
import type { PresentManager } from '../../http/access/manager.ts'
import {
  type Actor,
  type AuditAction,
  auditRecord,
  type NewAuditRecord,
} from '../../identity/audit/record.ts'
import type { AuditedState, auditedLevels, Deployment } from './deployment.ts'
import type { FeatureChange } from './feature-change.ts'
import type { DeploymentOrder } from './order.ts'

export type ChangeRequestState = 'waiting' | 'approved' | 'declined' | 'expired' | 'outdated'

/** The state before a change, or the one that it would lead to; with what else it sets. */
export type RequestedState = AuditedState & {
  readonly features?: FeatureChange | undefined
  /** Null: never set. */
  readonly alarm?: ReturnType<typeof auditedLevels> | null | undefined
  readonly reason_baseline?:
    | { readonly model_id: string; readonly baseline_id: string | null }
    | undefined
}

/** A change that waits, or waited, for a second person. */
export interface ChangeRequest {
  readonly id: string
  readonly teamId: string
  readonly deploymentId: string
  readonly order: DeploymentOrder
  readonly state: ChangeRequestState
  /** State of the deployment that it was made for. */
  readonly cacheVersion: number
  readonly before: RequestedState
  readonly after: RequestedState
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
 * Tells whether an order waits for a second person on a deployment that requires approval: whatever
 * changes its models, shares, mode, reasons, alarm or cut-off, switches it on or off, or loosens
 * the requirement itself. A new name or strict mode alone does not.
 */
export function waitsForApproval(order: DeploymentOrder, present: Deployment): boolean {
  if (!present.requireApproval) return false
  if (order.action !== 'update') return true
  const { isActive, requireApproval, emergencyRollback, cutoff } = order.settings
  return (
    (isActive ?? present.isActive) !== present.isActive ||
    requireApproval === false ||
    (cutoff !== undefined && cutoff !== present.cutoff) ||
    (emergencyRollback ?? present.emergencyRollback) !== present.emergencyRollback
  )
}

/** Returns what one person still does alone on a deployment that requires approval. */
export function possibleAlone({
  emergencyRollback,
}: Pick<Deployment, 'emergencyRollback'>): Static<typeof PossibleAlone>[] {
  const always = ['name', 'strict_mode', 'development_sample'] as const
  return emergencyRollback ? [...always, 'emergency_rollback'] : [...always]
}

/** The member who decides on a request, as they are now, and how they came to their role. */
export interface Decider extends PresentManager {
  readonly userId: string
  readonly grants: readonly RoleGrant[]
}

/** A record of the audit log: somebody was added, or their role was changed. */
export interface RoleGrant {
  /** The author, and everybody who may hold their credentials. */
  readonly by: Requesters
  /** Null for a member who was added. */
  readonly before: Role | null
  readonly after: Role
  readonly at: Date
}

/**
 * Refuses whoever must not decide on a request. A service account never decides: its token is
 * shown to whoever makes or rotates it, so it proves no second person. Nor does a member who joined
 * after the request: they may be the requester, who left the team and joined it again. Nor one who
 * has the role of owner or admin from the requester, or only since the request.
 *
 * @param decider the member as they are now
 * @throws AppError `own_change_request`
 */
export function refuseRequester(request: ChangeRequest, decider: Decider): void {
  const { userId, email, since, grants } = decider
  if (!userId.startsWith('usr_')) {
    throw ownRequest("a service account can't decide on a change: an owner or admin must")
  }
  if (isRequester(request, { ids: [userId], emails: email === null ? [] : [email] })) {
    throw ownRequest(
      "you can't decide on a change that you or your service account asked for: ask another owner or admin",
    )
  }
  const askedMs = request.createdAt.getTime()
  if (since.getTime() > askedMs) {
    const message = 'you joined the team after this change was asked for'
    throw ownRequest(`${message}: ask an owner or admin who was there before`)
  }
  for (const { by, before, after, at } of grants) {
    if (before !== null && !outranks(after, before)) continue
    if (isRequester(request, by)) {
      const message = 'you have your role from whoever asked for this change'
      throw ownRequest(`${message}: ask an owner or admin who has it from somebody else`)
    }
    if (at.getTime() >= askedMs && before !== 'admin') {
      const message = 'you became owner or admin after this change was asked for'
      throw ownRequest(`${message}: ask one who was it before`)
    }
  }
}

function isRequester(
  { requesters, requesterEmails }: ChangeRequest,
  { ids, emails }: Requesters,
): boolean {
  return (
    ids.some((id) => requesters.includes(id)) ||
    emails.some((email) => requesterEmails.includes(email))
  )
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

/** The audit log's facts of a request that ends. */
type EndedRequest = Pick<
  ChangeRequest,
  'id' | 'deploymentId' | 'order' | 'requestedBy' | 'expiresAt'
>

/** Describes the end of a change request for the audit log. */
export function decisionRecord(
  actor: Actor,
  {
    action,
    comment,
    epochMs,
  }: {
    readonly action: AuditAction
    readonly comment?: string | undefined
    readonly epochMs: number
  },
): (request: EndedRequest) => NewAuditRecord {
  return (request) =>
    auditRecord(
      actor,
      {
        action,
        subject: request.deploymentId,
        after: {
          change_request_id: request.id,
          action: request.order.action,
          requested_by: request.requestedBy,
          expires_at: request.expiresAt.toISOString(),
        },
        ...(comment !== undefined && { reason: comment }),
      },
      epochMs,
    )
}
