import type { IdempotencyClaim, UserCaller } from '../../http/access/caller.ts'
import { newId } from '../../platform/ids.ts'
import type { EventType } from '../outbox.ts'

export interface NewAuditRecord {
  readonly id: string
  readonly teamId: string
  readonly actor: string
  readonly action: AuditAction
  readonly subject: string
  readonly before: object | null
  readonly after: object | null
  readonly reason: string | null
  readonly createdAt: Date
  /** Events that webhooks get beside the change; it is not part of the record. */
  readonly consequences?: readonly Consequence[]
  /** The change is made only while this is in force; absent: in any case. */
  readonly claim?: IdempotencyClaim
  /** The same for what its actor has signed in with. */
  readonly credential?: Credential
}

/** A session, or the hash of the token of a service account. */
export type Credential = { readonly sessionId: string } | { readonly tokenHash: string }

/** Effect of a change of one object on another. */
export interface Consequence {
  readonly type: EventType
  /** Id of the other object. */
  readonly subject: string
  /** Its state, in the form of the audit log. */
  readonly after: object
}

export type AuditAction =
  | 'model.deploy'
  | 'model.copy'
  | 'model.archive'
  | 'model.restore'
  | 'model.set_baseline'
  | 'deployment.create'
  | 'deployment.update'
  | 'deployment.add_challenger'
  | 'deployment.remove_challenger'
  | 'deployment.update_traffic'
  | 'deployment.toggle_shadow'
  | 'deployment.promote'
  | 'deployment.rollback'
  | 'deployment.set_reason_baseline'
  | 'deployment.set_alarm'
  | 'reason_baseline.create'
  | 'key.create'
  | 'key.revoke'
  | 'key.set_limit'
  | 'key.update'
  | 'key.rotate'
  | 'service_account.create'
  | 'service_account.rotate'
  | 'service_account.revoke'
  | 'session.sign_in'
  | 'session.sign_in_failed'
  | 'session.end'
  | 'member.change_password'
  | 'score.read'
  | 'score.search'
  | 'audit_log.export'
  | 'access_review.export'
  | 'member.create'
  | 'member.update'
  | 'member.link'
  | 'member.delete'
  | 'member.reset_password'
  | 'session.end_family'
  | 'team.create'
  | 'log.export'
  | 'log.erase'
  | 'log.adopt_archive'
  | 'log.restore'
  | 'outcome_definition.put'
  | 'outcomes.import'
  | 'batch.create'
  | 'batch.cancel'
  | 'batch.read_results'
  | 'batch.read_errors'
  | 'replay.start'
  | 'backtest.start'
  | 'job.cancel'
  | 'outcomes.send'
  | 'webhook.test'
  | 'webhook.replay'
  | 'model.export'
  | 'secret.replay'
  | 'change_request.create'
  | 'change_request.approve'
  | 'change_request.decline'
  | 'change_request.expire'
  | 'change_request.outdate'
  | 'webhook.create'
  | 'webhook.update'
  | 'webhook.rotate'
  | 'webhook.delete'

/** Actions that change nothing: somebody read or exported. */
export const READS: readonly AuditAction[] = [
  ...(['score.read', 'score.search', 'batch.read_results', 'batch.read_errors'] as const),
  ...(['log.export', 'audit_log.export', 'access_review.export', 'model.export'] as const),
  'secret.replay',
]

/** The author of a change in a team: a user, or `OPERATOR`. */
export interface Actor {
  readonly userId: string
  readonly teamId: string
  readonly claim?: IdempotencyClaim
  readonly sessionId?: string
  readonly tokenHash?: string
}

/** Actor id of the operator, who uses the command line. */
export const OPERATOR = 'operator'

/** The service itself, which sees what any member of the team may see. */
export function serviceIn(teamId: string): UserCaller {
  return { kind: 'user', userId: OPERATOR, teamId, role: 'viewer' }
}

/** Actor of what the service does by itself. */
export const SERVICE = 'service'

/** Actor of what somebody does who is not proven. */
export const ANONYMOUS = 'anonymous'

interface Change {
  readonly action: AuditAction
  /** Id of the changed object. */
  readonly subject: string
  readonly before?: object
  readonly after?: object
  readonly reason?: string
}

/** Describes a change by a user. The store writes the record in the transaction of the change. */
export function auditRecord(actor: Actor, change: Change, epochMs: number): NewAuditRecord {
  const { sessionId, tokenHash } = actor
  return {
    id: newId('aud_', epochMs),
    teamId: actor.teamId,
    actor: actor.userId,
    action: change.action,
    subject: change.subject,
    before: change.before ?? null,
    after: change.after ?? null,
    reason: change.reason ?? null,
    createdAt: new Date(epochMs),
    ...(actor.claim && { claim: actor.claim }),
    ...(sessionId !== undefined && { credential: { sessionId } }),
    ...(tokenHash !== undefined && { credential: { tokenHash } }),
  }
}
