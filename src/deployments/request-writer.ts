import { and, eq, gt, sql } from 'drizzle-orm'
import { insertAuditRecord } from '../audit/writer.ts'
import { rowsOf, type Transaction } from '../platform/db/client.ts'
import { changeRequests } from '../tables/change-requests.ts'
import type { ChangeRequest } from './approval.ts'
import type { Proposal } from './service.ts'

/** Stores a change as a request. The team must be locked. */
export async function insertRequest(
  tx: Transaction,
  { propose }: Proposal,
  of: {
    readonly teamId: string
    readonly deploymentId: string
    readonly userId: string
    readonly at: Date
  },
): Promise<ChangeRequest> {
  const [row] = await tx
    .select({ count: sql<number>`count(*)::integer` })
    .from(changeRequests)
    .where(
      and(
        eq(changeRequests.deploymentId, of.deploymentId),
        eq(changeRequests.state, 'waiting'),
        gt(changeRequests.expiresAt, of.at),
      ),
    )
  const { request, audit } = propose(await requestersOf(tx, of), row?.count ?? 0)
  await tx.insert(changeRequests).values({ ...request, requesters: [...request.requesters] })
  await insertAuditRecord(tx, audit)
  return request
}

/**
 * Everybody who may hold the credentials of a user or service account: the token of an account is
 * shown to whoever made or rotated it, who may be an account again.
 */
async function requestersOf(
  tx: Transaction,
  { teamId, userId }: { readonly teamId: string; readonly userId: string },
): Promise<string[]> {
  if (!userId.startsWith('svc_')) return [userId]
  const rows = await rowsOf<{ id: string }>(
    tx,
    sql`with recursive holders (id) as (
        select ${userId}::text
        union
        select audit_log.actor from audit_log join holders on audit_log.subject = holders.id
        where audit_log.team_id = ${teamId}
          and audit_log.action in ('service_account.create', 'service_account.rotate')
      )
      select id from holders`,
  )
  return rows.map(({ id }) => id)
}
