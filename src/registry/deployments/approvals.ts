import type { UserCaller } from '../../http/access/caller.ts'
import { refuseBreakGlass, requireManager } from '../../http/access/manager.ts'
import { type AuditAction, SERVICE } from '../../identity/audit/record.ts'
import type { Clock } from '../../platform/clock.ts'
import { isId } from '../../platform/ids.ts'
import type { Page, PageRequest } from '../../platform/paging.ts'
import {
  type ChangeRequest,
  changeRequestNotFound,
  decisionRecord,
  outdated,
  refuseRequester,
  requireWaiting,
} from './approval.ts'
import type { ApprovalStore, ChangeRequestFilter, DecisionCommand } from './approval-store.ts'
import { makeChange } from './order.ts'
import { isSuperseded } from './proposal.ts'
import { makeAudit } from './service.ts'

interface ApprovalOptions {
  readonly store: ApprovalStore
  readonly clock: Clock
  /** Address of the member who only opens the service when nobody else can; null: none. */
  readonly breakGlassEmail: string | null
  /** Called with the id of each changed deployment, before the response is sent. */
  readonly onChange: (deploymentId: string) => void
}

/** Requests of a sweep; the next one takes the rest. */
const EXPIRED_AT_A_TIME = 100

/** Decisions on changes that wait for a second person. */
export class ApprovalService {
  private readonly options: ApprovalOptions

  constructor(options: ApprovalOptions) {
    this.options = options
  }

  list(
    teamId: string,
    filter: Omit<ChangeRequestFilter, 'at'>,
    page: PageRequest,
  ): Promise<Page<ChangeRequest>> {
    const at = new Date(this.options.clock.epochMs())
    return this.options.store.list(teamId, { ...filter, at }, page)
  }

  /** @throws AppError `change_request_not_found` */
  async get(teamId: string, requestId: string): Promise<ChangeRequest> {
    const found = isId(requestId, 'chg_') ? await this.options.store.find(teamId, requestId) : null
    if (found === null) throw changeRequestNotFound()
    return found
  }

  /**
   * Approves a request, which makes its change at once. Two decisions on one request never overlap.
   *
   * @throws AppError `change_request_not_found`, `insufficient_role`, `own_change_request`,
   *   `change_request_closed`,
   *   `change_outdated`, and the errors of the order, which leave the request waiting
   */
  async approve(
    actor: UserCaller,
    requestId: string,
    comment: string | undefined,
  ): Promise<ChangeRequest> {
    if (!isId(requestId, 'chg_')) throw changeRequestNotFound()
    const { store, onChange } = this.options
    const epochMs = this.options.clock.epochMs()
    const at = new Date(epochMs)
    const approved = await store.approve({
      ...this.decision(actor, requestId, comment, 'change_request.approve'),
      at,
      outdatedAudit: decisionRecord(actor, { action: 'change_request.outdate', epochMs }),
      decide: async (request, present, read) => {
        const change = await makeChange(request.order, present, read, at)
        return isSuperseded(request, present, change) ? null : change
      },
      audit: ({ id, requestedBy }) =>
        makeAudit(actor, epochMs, { change_request_id: id, requested_by: requestedBy }),
    })
    if (approved === null) throw changeRequestNotFound()
    if (approved === 'outdated') throw outdated()
    for (const deploymentId of approved.changed.touchedIds) onChange(deploymentId)
    return approved.request
  }

  /**
   * @throws AppError `change_request_not_found`, `insufficient_role`, `own_change_request`,
   *   `change_request_closed`,
   *   `change_outdated`
   */
  async decline(
    actor: UserCaller,
    requestId: string,
    comment: string | undefined,
  ): Promise<ChangeRequest> {
    if (!isId(requestId, 'chg_')) throw changeRequestNotFound()
    const declined = await this.options.store.decline(
      this.decision(actor, requestId, comment, 'change_request.decline'),
    )
    if (declined === null) throw changeRequestNotFound()
    return declined
  }

  /** Closes requests whose time is over, with their audit records. */
  async expireDue(): Promise<void> {
    const { store, clock } = this.options
    const epochMs = clock.epochMs()
    const at = new Date(epochMs)
    for (const { id, teamId } of await store.due(at, EXPIRED_AT_A_TIME)) {
      const decisionAudit = decisionRecord(
        { userId: SERVICE, teamId },
        { action: 'change_request.expire', epochMs },
      )
      await store.expire({ teamId, requestId: id, at, decisionAudit })
    }
  }

  private decision(
    actor: UserCaller,
    requestId: string,
    comment: string | undefined,
    action: AuditAction,
  ): DecisionCommand {
    const epochMs = this.options.clock.epochMs()
    return {
      teamId: actor.teamId,
      requestId,
      userId: actor.userId,
      admit: (request, decider) => {
        const present = requireManager(decider)
        refuseBreakGlass(present, this.options.breakGlassEmail)
        refuseRequester(request, present)
        requireWaiting(request, epochMs)
      },
      decision: {
        decidedBy: actor.userId,
        decidedAt: new Date(epochMs),
        comment: comment ?? null,
      },
      decisionAudit: decisionRecord(actor, { action, comment, epochMs }),
    }
  }
}
