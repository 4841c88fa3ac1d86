import { and, eq, gt, sql } from 'drizzle-orm'
import { insertAuditRecord } from '../audit/writer.ts'
import type { Transaction } from '../platform/db/client.ts'
import { changeRequests } from '../tables/change-requests.ts'
import type { ChangeRequest } from './approval.ts'
import { requestersOf } from './requesters.ts'
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
  await tx.insert(changeRequests).values({
    ...request,
    requesters: [...request.requesters],
    requesterEmails: [...request.requesterEmails],
  })
  await insertAuditRecord(tx, audit)
  return request
}
