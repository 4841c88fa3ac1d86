import {
  type Actor,
  type AuditAction,
  auditRecord,
  type NewAuditRecord,
} from '../../identity/audit/record.ts'
import type { ChangeRequest } from './approval.ts'

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
