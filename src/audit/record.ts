import { newId } from '../ids.ts'

/** One management change, as it is written down. */
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
}

export type AuditAction =
  | 'model.deploy'
  | 'model.archive'
  | 'model.restore'
  | 'deployment.create'
  | 'deployment.update'
  | 'deployment.add_challenger'
  | 'deployment.remove_challenger'
  | 'deployment.update_traffic'
  | 'deployment.toggle_shadow'
  | 'deployment.promote'
  | 'deployment.rollback'
  | 'key.create'
  | 'key.revoke'
  | 'key.set_limit'
  | 'member.create'
  | 'member.update'
  | 'member.delete'
  | 'member.reset_password'
  | 'session.end_family'
  | 'team.create'

/** Who makes a change in a team: a user, or `OPERATOR`. */
export interface Actor {
  readonly userId: string
  readonly teamId: string
}

/** Stands for whoever works on the operator's command line. */
export const OPERATOR = 'operator'

interface Change {
  readonly action: AuditAction
  /** Id of the thing that changed. */
  readonly subject: string
  readonly before?: object
  readonly after?: object
  readonly reason?: string
}

/** Describes a change by a user; the store of the change writes it in the change's own transaction. */
export function auditRecord(actor: Actor, change: Change, epochMs: number): NewAuditRecord {
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
  }
}
