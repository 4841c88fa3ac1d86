import { and, eq, gt, lte, or } from 'drizzle-orm'
import type { NewAuditRecord } from '../../identity/audit/record.ts'
import { insertAuditRecord, lockTeam } from '../../identity/audit/writer.ts'
import { type Database, DatabaseStore, type Transaction } from '../../platform/db/client.ts'
import { mapPage, type Page, type PageRequest, readPage } from '../../platform/paging.ts'
import { changeRequests } from '../../tables/change-requests.ts'
import type { ChangeRequest, ChangeRequestState, Decider } from './approval.ts'
import type { ChangeReader, Deployment } from './deployment.ts'
import { readRequest } from './request-writer.ts'
import { readDecider } from './requesters.ts'
import { type AuditOf, applyChange, type Changed, makeReader, readDeployment } from './store.ts'
import type { Change } from './succession.ts'

export interface Decision {
  readonly decidedBy: string
  readonly decidedAt: Date
  readonly comment: string | null
}

export interface ChangeRequestFilter {
  readonly deploymentId?: string | undefined
  readonly state?: ChangeRequestState | undefined
  /** Now, which ends waiting requests. */
  readonly at: Date
}

export interface DecisionCommand {
  readonly teamId: string
  readonly requestId: string
  /** User who decides. */
  readonly userId: string
  /**
   * Throws if the request must not be decided on; that changes nothing.
   *
   * @param decider who decides, as they are now; null if they were removed
   */
  readonly admit: (request: ChangeRequest, decider: Decider | null) => void
  readonly decision: Decision
  readonly decisionAudit: (request: ChangeRequest) => NewAuditRecord
}

/** Requests for approval in PostgreSQL. */
export class ApprovalStore extends DatabaseStore {
  async list(
    teamId: string,
    { deploymentId, state, at }: ChangeRequestFilter,
    page: PageRequest,
  ): Promise<Page<ChangeRequest>> {
    // A request whose time is over counts as expired before the sweep has found it.
    const isStored = state && eq(changeRequests.state, state)
    const isOverdue = and(eq(changeRequests.state, 'waiting'), lte(changeRequests.expiresAt, at))
    const isState =
      state === 'waiting'
        ? and(isStored, gt(changeRequests.expiresAt, at))
        : state === 'expired'
          ? or(isStored, isOverdue)
          : isStored
    const found = await readPage(
      this.db.select().from(changeRequests),
      page,
      changeRequests.id,
      eq(changeRequests.teamId, teamId),
      deploymentId === undefined ? undefined : eq(changeRequests.deploymentId, deploymentId),
      isState,
    )
    return mapPage(found, readRequest)
  }

  find(teamId: string, requestId: string): Promise<ChangeRequest | null> {
    return findRequest(this.db, teamId, requestId)
  }

  /**
   * Makes the change of a request, as `DeploymentStore.change` does, and closes the request, in one
   * transaction. A request for another state is closed as outdated, and nothing else changes.
   *
   * @returns null if there is no such request
   */
  approve({
    teamId,
    requestId,
    userId,
    at,
    admit,
    decide,
    audit,
    decisionAudit,
    outdatedAudit,
    decision,
  }: DecisionCommand & {
    readonly at: Date
    /** Returns null if the request was made for another state. */
    readonly decide: (
      request: ChangeRequest,
      present: Deployment,
      read: ChangeReader,
    ) => Promise<Change | null>
    readonly audit: (request: ChangeRequest) => AuditOf
    /** Records that the request was for another state. */
    readonly outdatedAudit: (request: ChangeRequest) => NewAuditRecord
  }): Promise<{ request: ChangeRequest; changed: Changed } | 'outdated' | null> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const request = await findRequest(tx, teamId, requestId)
      if (request === null) return null
      admit(request, await readDecider(tx, { userId, teamId }))
      const present = await readDeployment(tx, teamId, request.deploymentId)
      if (present === null) return null
      const isOfVersion = present.cacheVersion === request.cacheVersion
      const change = isOfVersion ? await decide(request, present, makeReader(tx, teamId)) : null
      if (change === null) {
        // Nobody has decided, so that there is no decided_by.
        await close(tx, requestId, { state: 'outdated', decidedAt: at })
        await insertAuditRecord(tx, outdatedAudit(request))
        return 'outdated'
      }
      const ended = {
        ...decision,
        state: 'approved' as const,
        appliedVersion: change.next.cacheVersion,
      }
      await close(tx, requestId, ended)
      await insertAuditRecord(tx, decisionAudit(request))
      const changed = await applyChange(tx, { before: present, change, at, audit: audit(request) })
      return { request: { ...request, ...ended }, changed }
    })
  }

  /** @returns null if there is no such request */
  decline({
    teamId,
    requestId,
    userId,
    admit,
    decision,
    decisionAudit,
  }: DecisionCommand): Promise<ChangeRequest | null> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const request = await findRequest(tx, teamId, requestId)
      if (request === null) return null
      admit(request, await readDecider(tx, { userId, teamId }))
      const ended = { ...decision, state: 'declined' as const }
      await close(tx, requestId, ended)
      await insertAuditRecord(tx, decisionAudit(request))
      return { ...request, ...ended }
    })
  }

  /** Waiting requests whose time is over, of all teams. */
  async due(at: Date, limit: number): Promise<readonly ChangeRequest[]> {
    const rows = await this.db
      .select()
      .from(changeRequests)
      .where(and(eq(changeRequests.state, 'waiting'), lte(changeRequests.expiresAt, at)))
      .limit(limit)
    return rows.map(readRequest)
  }

  /** @returns false if the request waits no longer */
  expire({
    teamId,
    requestId,
    at,
    decisionAudit,
  }: {
    readonly teamId: string
    readonly requestId: string
    readonly at: Date
    readonly decisionAudit: (request: ChangeRequest) => NewAuditRecord
  }): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const request = await findRequest(tx, teamId, requestId)
      // Another replica was first.
      if (request === null || request.state !== 'waiting') return false
      await close(tx, requestId, { state: 'expired', decidedAt: at })
      await insertAuditRecord(tx, decisionAudit(request))
      return true
    })
  }
}

async function findRequest(
  db: Database,
  teamId: string,
  requestId: string,
): Promise<ChangeRequest | null> {
  const [row] = await db
    .select()
    .from(changeRequests)
    .where(and(eq(changeRequests.id, requestId), eq(changeRequests.teamId, teamId)))
  return row === undefined ? null : readRequest(row)
}

async function close(
  tx: Transaction,
  requestId: string,
  end: Partial<
    Pick<ChangeRequest, 'state' | 'decidedBy' | 'decidedAt' | 'comment' | 'appliedVersion'>
  >,
): Promise<void> {
  await tx.update(changeRequests).set(end).where(eq(changeRequests.id, requestId))
}
