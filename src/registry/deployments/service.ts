import { AppError } from '../../errors.ts'
import { type Actor, auditRecord } from '../../identity/audit/record.ts'
import type { Clock } from '../../platform/clock.ts'
import { isId, newId } from '../../platform/ids.ts'
import type { Page, PageRequest } from '../../platform/paging.ts'
import { type ChangeRequest, waitsForApproval } from './approval.ts'
import {
  auditedLevels,
  auditedState,
  type Challenger,
  type ChangeReader,
  type Deployment,
} from './deployment.ts'
import type { FeatureChange } from './feature-change.ts'
import { type DeploymentOrder, type DeploymentSettings, findModel, makeChange } from './order.ts'
import { newProposal } from './proposal.ts'
import type { Proposal } from './request-writer.ts'
import type {
  AuditOf,
  Changed,
  DeploymentFilter,
  DeploymentStore,
  DeploymentSummary,
  Proposed,
} from './store.ts'
import { type Change, findChallenger } from './succession.ts'
import { readTrafficSettings, type TrafficAction, trafficOrder } from './traffic-settings.ts'

export type { DeploymentSummary } from './store.ts'
/** Result of an order: made, or stored as a request that waits for a second person. */
export type Outcome<Done> = { readonly done: Done } | { readonly waiting: ChangeRequest }

interface DeploymentOptions {
  readonly store: DeploymentStore
  readonly clock: Clock
  /** Time for which a change waits for a second person. */
  readonly requestLifeMs: number
  /** Called with the id of each changed deployment, before the response is sent. */
  readonly onChange: (deploymentId: string) => void
}

/** Result of a traffic request. */
interface TrafficChanged {
  readonly action: TrafficAction
  readonly deployment: Deployment
  /** The entry that was added, updated or removed. */
  readonly challenger: Challenger | null
  readonly features: FeatureChange | undefined
}

/** Makes an order for the present state, within the transaction of the change. */
type OrderPlan = (
  present: Deployment,
  read: ChangeReader,
) => DeploymentOrder | Promise<DeploymentOrder>

interface RollbackCommand {
  readonly reason?: string | undefined
  readonly emergency?: boolean | undefined
  readonly accept_features?: boolean | undefined
}

/** Result of a promotion or a rollback. */
export interface Succession {
  readonly before: Deployment
  readonly after: Deployment
  /** Number of deactivated challengers, without the promoted one. */
  readonly deactivatedCount: number
  readonly features: FeatureChange | undefined
}

/** Deployments: reads them and changes their models, traffic and settings. */
export class DeploymentService {
  private readonly options: DeploymentOptions

  constructor(options: DeploymentOptions) {
    this.options = options
  }

  list(
    teamId: string,
    filter: DeploymentFilter,
    page: PageRequest,
  ): Promise<Page<DeploymentSummary>> {
    return this.options.store.list(teamId, filter, page)
  }

  /** @throws AppError `deployment_not_found` */
  async get(teamId: string, slug: string): Promise<Deployment> {
    const found = isId(slug, 'dep_') ? await this.options.store.find(teamId, slug) : null
    if (found === null) throw notFound()
    return found
  }

  /**
   * Renames a deployment, switches it on or off, or sets strict mode or how it is changed.
   *
   * @throws AppError `deployment_not_found`, `limit_reached`
   */
  async update(
    actor: Actor,
    slug: string,
    settings: DeploymentSettings,
  ): Promise<Outcome<Deployment>> {
    const outcome = await this.order(actor, slug, () => ({ action: 'update', settings }))
    return doneAs(outcome, ({ after }) => after)
  }

  /**
   * Adds, removes or resizes a challenger, or switches shadow mode.
   *
   * @param body any JSON value
   * @throws AppError `deployment_not_found`, `model_not_found`, `challenger_not_found`,
   *   `invalid_traffic_config`, `limit_reached`
   */
  async manageTraffic(actor: Actor, slug: string, body: unknown): Promise<Outcome<TrafficChanged>> {
    const settings = readTrafficSettings(body)
    const newEntryId = newId('ch_', this.options.clock.epochMs())
    const outcome = await this.order(actor, slug, async (present, read) => {
      // 404 takes precedence over 422.
      if (settings.modelId !== null) await findModel(read, settings.modelId)
      if (settings.challengerId !== null) findChallenger(present, settings.challengerId)
      return trafficOrder(settings, newEntryId)
    })
    const { action } = settings
    if (action === null) throw new TypeError('a traffic request without an action was accepted')
    return doneAs(outcome, (changed) => ({
      action,
      deployment: changed.after,
      challenger: challengerIn(changed),
      features: changed.features,
    }))
  }

  /**
   * Makes a challenger's model the champion.
   *
   * @param plan makes the order within the transaction
   * @throws AppError `deployment_not_found`, `challenger_not_found`, `limit_reached`, and the
   *   errors of `plan`
   */
  async promote(actor: Actor, slug: string, plan: OrderPlan): Promise<Outcome<Succession>> {
    const outcome = await this.order(actor, slug, plan)
    return doneAs(outcome, ({ before, after, features }) => ({
      before,
      after,
      features,
      deactivatedCount: before.challengers.length - 1,
    }))
  }

  /**
   * Brings the previous champion back. An emergency does not wait for a second person, where the
   * deployment allows that and the newest change of the champion was a promotion: so it undoes each
   * promotion once, and never brings back what a rollback took away. The audit log says so, and
   * which approved changes it takes away.
   *
   * @throws AppError `deployment_not_found`, `no_rollback_target`, `limit_reached`
   */
  async rollBack(
    actor: Actor,
    slug: string,
    { reason, emergency = false, accept_features: acceptFeatures }: RollbackCommand,
  ): Promise<Outcome<Succession>> {
    const outcome = await this.order(
      actor,
      slug,
      () => ({ action: 'rollback', reason, acceptFeatures }),
      emergency,
    )
    return doneAs(outcome, ({ before, after, features }) => ({
      before,
      after,
      features,
      deactivatedCount: before.challengers.length,
    }))
  }

  /**
   * Makes the change that an order asks for, or stores it as a request where it has to wait for a
   * second person. Either way the order was checked against the present state.
   *
   * @throws AppError `deployment_not_found`, `limit_reached`, and the errors of the order
   */
  async order(
    actor: Actor,
    slug: string,
    plan: OrderPlan,
    isEmergency = false,
  ): Promise<Outcome<Changed>> {
    const epochMs = this.options.clock.epochMs()
    const at = new Date(epochMs)
    const decide = async (present: Deployment, read: ChangeReader): Promise<Change | Proposal> => {
      const order = await plan(present, read)
      const change = await makeChange(order, present, read, at)
      if (!waitsForApproval(order, present)) return change
      if (isEmergency && present.emergencyRollback) {
        const undoneRequestIds = await read.undonePromotion(present)
        if (undoneRequestIds !== null) return { ...change, undoneRequestIds }
      }
      return newProposal(actor, { order, present, change }, epochMs, this.options.requestLifeMs)
    }
    const extra = isEmergency ? { emergency: true } : {}
    const outcome = await this.run(actor, slug, decide, makeAudit(actor, epochMs, extra))
    return 'request' in outcome ? { waiting: outcome.request } : { done: outcome }
  }

  private async run(
    actor: Actor,
    slug: string,
    decide: (present: Deployment, read: ChangeReader) => Promise<Change | Proposal>,
    audit: AuditOf,
  ): Promise<Changed | Proposed> {
    if (!isId(slug, 'dep_')) throw notFound()
    const { clock, store, onChange } = this.options
    const outcome = await store.change({
      teamId: actor.teamId,
      deploymentId: slug,
      userId: actor.userId,
      at: new Date(clock.epochMs()),
      decide,
      audit,
    })
    if (outcome === null) throw notFound()
    if ('touchedIds' in outcome) for (const id of outcome.touchedIds) onChange(id)
    return outcome
  }
}

/** The result of an order in the form that its caller wants. */
export function doneAs<Done, As>(outcome: Outcome<Done>, as: (done: Done) => As): Outcome<As> {
  return 'waiting' in outcome ? outcome : { done: as(outcome.done) }
}

/**
 * Describes changes of a deployment for the audit log.
 *
 * @param extra what else the records say of the change
 */
export function makeAudit(actor: Actor, epochMs: number, extra: object = {}): AuditOf {
  return (present, change, consequences) => {
    const { action, next, reason, features, undoneRequestIds, alarm } = change
    const subject = present.id
    if (alarm !== undefined) {
      const before = alarm.before && auditedLevels(alarm.before)
      const after = { ...auditedLevels(alarm.after), ...extra }
      return auditRecord(actor, { action, subject, ...(before && { before }), after }, epochMs)
    }
    const after = {
      ...auditedState(next),
      ...(features && { features }),
      ...consequences,
      ...extra,
      ...(undoneRequestIds && { undone_change_request_ids: undoneRequestIds }),
    }
    const what = { action, subject, before: auditedState(present), after }
    return auditRecord(actor, { ...what, ...(reason !== undefined && { reason }) }, epochMs)
  }
}

/**
 * The challenger entry that the change concerns: its new state, or its last one if it was removed.
 */
export function challengerIn({ before, after, challengerId }: Changed): Challenger | null {
  const present = after.challengers.find(({ id }) => id === challengerId)
  if (present !== undefined) return present
  const removed = before.challengers.find(({ id }) => id === challengerId)
  return removed === undefined ? null : { ...removed, isActive: false }
}

/** Only for unknown deployments: management also finds inactive ones. */
function notFound(): AppError {
  return new AppError('deployment_not_found', 'there is no deployment with this slug')
}
