import { and, desc, eq, gt, gte, inArray, ne, sql } from 'drizzle-orm'
import { type NewAuditRecord, SERVICE } from '../../identity/audit/record.ts'
import { insertAuditRecord } from '../../identity/audit/writer.ts'
import type { Transaction } from '../../platform/db/client.ts'
import { auditLog } from '../../tables/audit.ts'
import { changeRequests } from '../../tables/change-requests.ts'
import { type ChangeRequest, decisionRecord, type Requesters } from './approval.ts'
import type { Deployment } from './deployment.ts'
import type { DeploymentOrder } from './order.ts'
import { readRequesters } from './requesters.ts'

/** A change to store as a request, because it waits for a second person. */
export interface Proposal {
  /**
   * Makes the request.
   *
   * @param requesters everybody who may hold the credentials that ask
   * @param waitingCount requests that wait for this deployment
   */
  readonly propose: (
    requesters: Requesters,
    waitingCount: number,
  ) => { readonly request: ChangeRequest; readonly audit: NewAuditRecord }
}

/** Orders whose effect a rollback takes away: it changes the champion and ends all challengers. */
const UNDOABLE: readonly DeploymentOrder['action'][] = [
  ...(['promote', 'rollback', 'add_challenger', 'remove_challenger', 'update_traffic'] as const),
]
/** Requests that one record names, the newest first. */
const UNDONE_MAX = 100

/**
 * Stores a change as a request. The team must be locked. Requests that can't be applied any more
 * end before the waiting ones are counted.
 */
export async function insertRequest(
  tx: Transaction,
  { propose }: Proposal,
  of: { readonly present: Deployment; readonly userId: string; readonly at: Date },
): Promise<ChangeRequest> {
  const { present, userId, at } = of
  await endOutdated(tx, present, at)
  const [row] = await tx
    .select({ count: sql<number>`count(*)::integer` })
    .from(changeRequests)
    .where(isWaitingFor(present.id, at))
  const requesters = await readRequesters(tx, { teamId: present.teamId, userId })
  const { request, audit } = propose(requesters, row?.count ?? 0)
  await tx.insert(changeRequests).values({
    ...request,
    requesters: [...request.requesters],
    requesterEmails: [...request.requesterEmails],
  })
  await insertAuditRecord(tx, audit)
  return request
}

/**
 * Ends waiting requests for another state of the deployment, with their audit records: no approval
 * could apply them. The team must be locked. At most `WAITING_MAX` wait.
 */
export async function endOutdated(
  tx: Transaction,
  { id, teamId, cacheVersion }: Pick<Deployment, 'id' | 'teamId' | 'cacheVersion'>,
  at: Date,
): Promise<void> {
  const ended = await tx
    .update(changeRequests)
    .set({ state: 'outdated', decidedAt: at })
    .where(and(isWaitingFor(id, at), ne(changeRequests.cacheVersion, cacheVersion)))
    .returning()
  const change = { action: 'change_request.outdate', epochMs: at.getTime() } as const
  const makeRecord = decisionRecord({ userId: SERVICE, teamId }, change)
  for (const row of ended) await insertAuditRecord(tx, makeRecord(readRequest(row)))
}

/**
 * Ids of approved requests that a rollback of the newest promotion takes away: its own and those
 * since. The newest first.
 *
 * @returns null if the newest change of the champion was a rollback
 */
export async function undonePromotion(
  tx: Transaction,
  { id }: Pick<Deployment, 'id'>,
): Promise<readonly string[] | null> {
  const [came] = await tx
    .select({
      action: auditLog.action,
      version: sql<number>`(${auditLog.after} ->> 'cache_version')::integer`,
    })
    .from(auditLog)
    .where(
      and(
        eq(auditLog.subject, id),
        // The index of the changes of deployments has this condition.
        sql`${auditLog.action} like 'deployment.%'`,
        inArray(auditLog.action, ['deployment.promote', 'deployment.rollback']),
      ),
    )
    .orderBy(desc(auditLog.position))
    .limit(1)
  if (came?.action !== 'deployment.promote') return null
  const rows = await tx
    .select({ id: changeRequests.id })
    .from(changeRequests)
    .where(
      and(
        eq(changeRequests.deploymentId, id),
        eq(changeRequests.state, 'approved'),
        gte(changeRequests.appliedVersion, came.version),
        inArray(sql`${changeRequests.order} ->> 'action'`, [...UNDOABLE]),
      ),
    )
    .orderBy(desc(changeRequests.appliedVersion))
    .limit(UNDONE_MAX)
  return rows.map((row) => row.id)
}

/** A row as the request that it is. `newProposal` wrote its documents. */
export function readRequest(row: typeof changeRequests.$inferSelect): ChangeRequest {
  return {
    ...row,
    order: row.order as ChangeRequest['order'],
    before: row.before as ChangeRequest['before'],
    after: row.after as ChangeRequest['after'],
  }
}

/** A request whose time is over counts as expired, even before it is closed. */
function isWaitingFor(deploymentId: string, at: Date) {
  return and(
    eq(changeRequests.deploymentId, deploymentId),
    eq(changeRequests.state, 'waiting'),
    gt(changeRequests.expiresAt, at),
  )
}
