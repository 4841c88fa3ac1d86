import { type Actor, auditRecord, type NewAuditRecord } from '../audit/record.ts'
import type { Environment } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import { AppError } from '../errors.ts'
import { isId, newId } from '../ids.ts'
import type { Page, PageRequest } from '../paging.ts'
import {
  addChallenger,
  type Change,
  challengerOf,
  promote,
  removeChallenger,
  rollBack,
  toggleShadow,
  trafficFault,
  updateTraffic,
} from './changes.ts'
import { auditedState, type Candidate, type Challenger, type Deployment } from './deployment.ts'
import { readTrafficOrder, TRAFFIC_PCT_MAX, type TrafficAction } from './traffic-order.ts'

/** A deployment as a list shows it. */
export interface DeploymentSummary {
  readonly id: string
  readonly name: string
  readonly environment: Environment
  readonly isActive: boolean
  readonly shadowMode: boolean
  readonly champion: { readonly name: string; readonly version: string }
  readonly createdAt: Date
}

export interface DeploymentFilter {
  readonly environment?: Environment | undefined
}

/** What a change may look up, within its transaction. */
export interface ChangeReader {
  /** A model of the deployment's team. */
  model(modelId: string): Promise<Candidate | null>
  /** The active models of this version among those of the champion's name and environment, newest first. */
  modelsOfVersion(deployment: Deployment, version: string): Promise<Candidate[]>
}

/** What the service needs of the database. */
export interface DeploymentStore {
  list(
    teamId: string,
    filter: DeploymentFilter,
    page: PageRequest,
  ): Promise<Page<DeploymentSummary>>
  find(teamId: string, deploymentId: string): Promise<Deployment | null>
  /**
   * Carries out one change in one transaction, with its audit record and the statuses of the models
   * that follow from it. No other change in the team overlaps it.
   *
   * @param decide what shall be, from what is; what it throws undoes all
   * @returns null when there is no such deployment
   */
  change(order: {
    readonly teamId: string
    readonly deploymentId: string
    readonly at: Date
    readonly decide: (present: Deployment, read: ChangeReader) => Promise<Change>
    /** @param consequences what became of models and of challengers elsewhere */
    readonly audit: (present: Deployment, change: Change, consequences: object) => NewAuditRecord
  }): Promise<Changed | null>
}

export interface Changed {
  readonly before: Deployment
  /** As it is now; its `challengers` are the active ones. */
  readonly after: Deployment
  /** All deployments whose answers changed with it. */
  readonly touchedIds: readonly string[]
}

export interface DeploymentOptions {
  readonly store: DeploymentStore
  readonly clock: Clock
  /** Told of each deployment that changed, before its change is answered. */
  readonly onChange: (deploymentId: string) => void
}

/** Answer to a traffic request. */
export interface TrafficChanged {
  readonly action: TrafficAction
  readonly deployment: Deployment
  /** The entry that was added, updated or removed. */
  readonly challenger: Challenger | null
}

/** Finds a challenger entry by something else than its id. */
export type EntryPick = (present: Deployment, read: ChangeReader) => string | Promise<string>

/** Answer to a promotion or a rollback. */
export interface Succession {
  readonly before: Deployment
  readonly after: Deployment
  /** Challengers that lost their place; the one that was promoted is none of them. */
  readonly deactivatedCount: number
}

/** Which models answer under a deployment, and how that changes. */
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
   * Renames, switches on or off.
   *
   * @throws AppError `deployment_not_found`
   */
  async update(
    actor: Actor,
    slug: string,
    wanted: { readonly name?: string | undefined; readonly isActive?: boolean | undefined },
  ): Promise<Deployment> {
    const { after } = await this.change(actor, slug, async (present) => {
      const { name = present.name, isActive = present.isActive } = wanted
      const isSwitched = isActive !== present.isActive
      const cacheVersion = present.cacheVersion + (isSwitched ? 1 : 0)
      return {
        action: 'deployment.update',
        next: { ...present, name, isActive, cacheVersion },
      }
    })
    return after
  }

  /**
   * Adds, removes or resizes a challenger, or switches shadow mode.
   *
   * @param body any JSON value
   * @throws AppError `deployment_not_found`, `model_not_found`, `challenger_not_found`,
   *   `invalid_traffic_config`
   */
  async manageTraffic(actor: Actor, slug: string, body: unknown): Promise<TrafficChanged> {
    const order = readTrafficOrder(body)
    const addedAt = new Date(this.options.clock.epochMs())
    const newEntryId = newId('ch_', addedAt.getTime())
    const { after, before } = await this.change(actor, slug, async (present, read) => {
      // What does not exist is answered before what is wrong.
      const model = order.modelId === null ? null : await modelOf(read, order.modelId)
      if (order.challengerId !== null) challengerOf(present, order.challengerId)
      if (order.faults.length > 0) throw trafficFault(order.faults)
      const { challengerId, trafficPct, shadowMode } = order
      if (model !== null && trafficPct !== null) {
        const entry = { id: newEntryId, model, trafficPct, addedAt }
        const limitPct = TRAFFIC_PCT_MAX
        return addChallenger(present, { ...entry, shadowMode: present.shadowMode }, limitPct)
      }
      if (challengerId !== null) {
        return trafficPct === null
          ? removeChallenger(present, challengerId)
          : updateTraffic(present, challengerId, trafficPct)
      }
      return toggleShadow(present, shadowMode === true)
    })
    const { action } = order
    if (action === null) throw new TypeError('a traffic request without an action was carried out')
    const entryId = action === 'add_challenger' ? newEntryId : order.challengerId
    return { action, deployment: after, challenger: entryOf(entryId, before, after) }
  }

  /**
   * Makes a challenger's model the champion.
   *
   * @param pick the id of the challenger entry, from the state that the change meets
   * @throws AppError `deployment_not_found`, `challenger_not_found`, and what `pick` throws
   */
  async promote(actor: Actor, slug: string, pick: EntryPick): Promise<Succession> {
    const { before, after } = await this.change(actor, slug, async (present, read) =>
      promote(present, await pick(present, read)),
    )
    return { before, after, deactivatedCount: before.challengers.length - 1 }
  }

  /** @throws AppError `deployment_not_found`, `no_rollback_target` */
  async rollBack(actor: Actor, slug: string, reason: string | undefined): Promise<Succession> {
    const decide = async (present: Deployment) => rollBack(present, reason)
    const { before, after } = await this.change(actor, slug, decide)
    return { before, after, deactivatedCount: before.challengers.length }
  }

  /**
   * Carries out a change that is decided within its transaction.
   *
   * @throws AppError `deployment_not_found`, and what `decide` throws
   */
  async change(
    actor: Actor,
    slug: string,
    decide: (present: Deployment, read: ChangeReader) => Promise<Change>,
  ): Promise<Changed> {
    if (!isId(slug, 'dep_')) throw notFound()
    const epochMs = this.options.clock.epochMs()
    const changed = await this.options.store.change({
      teamId: actor.teamId,
      deploymentId: slug,
      at: new Date(epochMs),
      decide,
      audit: (present, { action, next, reason }, consequences) =>
        auditRecord(
          actor,
          {
            action,
            subject: slug,
            before: auditedState(present),
            after: { ...auditedState(next), ...consequences },
            ...(reason !== undefined && { reason }),
          },
          epochMs,
        ),
    })
    if (changed === null) throw notFound()
    for (const deploymentId of changed.touchedIds) this.options.onChange(deploymentId)
    return changed
  }
}

/** The entry as it is now, or as it was when it left. */
export function entryOf(
  entryId: string | null,
  before: Deployment,
  after: Deployment,
): Challenger | null {
  const present = after.challengers.find(({ id }) => id === entryId)
  if (present !== undefined) return present
  const removed = before.challengers.find(({ id }) => id === entryId)
  return removed === undefined ? null : { ...removed, isActive: false }
}

async function modelOf(read: ChangeReader, modelId: string): Promise<Candidate> {
  const model = isId(modelId, 'mod_') ? await read.model(modelId) : null
  if (model === null) throw new AppError('model_not_found', 'there is no model with this id')
  return model
}

/** To management an inactive deployment is there. */
function notFound(): AppError {
  return new AppError('deployment_not_found', 'there is no deployment with this slug')
}
