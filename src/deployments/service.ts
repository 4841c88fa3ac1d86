import { TRAFFIC_PCT_MAX } from '../../schemas/deployments.ts'
import type { Environment } from '../access/caller.ts'
import { type Actor, auditRecord, type NewAuditRecord } from '../audit/record.ts'
import { AppError } from '../errors.ts'
import type { Clock } from '../platform/clock.ts'
import { isId, newId } from '../platform/ids/ids.ts'
import type { Page, PageRequest } from '../platform/paging.ts'
import { auditedState, type Candidate, type Challenger, type Deployment } from './deployment.ts'
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
} from './succession.ts'
import { readTrafficSettings, type TrafficAction } from './traffic-settings.ts'

/** A deployment in a list. */
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

/** Lookups that a change may make within its transaction. */
export interface ChangeReader {
  /** A model of the deployment's team. */
  model(modelId: string): Promise<Candidate | null>
  /** Active models with this version and the champion's name and environment, newest first. */
  modelsOfVersion(deployment: Deployment, version: string): Promise<Candidate[]>
}

/** What the service needs from the database. */
export interface DeploymentStore {
  list(
    teamId: string,
    filter: DeploymentFilter,
    page: PageRequest,
  ): Promise<Page<DeploymentSummary>>
  find(teamId: string, deploymentId: string): Promise<Deployment | null>
  /**
   * Makes one change in one transaction, together with its audit record and the resulting statuses
   * of models. No other change in the team overlaps it.
   *
   * @param decide derives the next state from the present one; an error rolls everything back
   * @returns null if the deployment does not exist
   */
  change(command: {
    readonly teamId: string
    readonly deploymentId: string
    readonly at: Date
    readonly decide: (present: Deployment, read: ChangeReader) => Promise<Change>
    /** @param consequences new statuses of models, and challengers that ended elsewhere */
    readonly audit: (present: Deployment, change: Change, consequences: object) => NewAuditRecord
  }): Promise<Changed | null>
}

export interface Changed {
  readonly before: Deployment
  /** The state after the change; its `challengers` are the active ones. */
  readonly after: Deployment
  /** See `Change`. */
  readonly challengerId: string | null
  /** Ids of all deployments whose scores the change can alter. */
  readonly touchedIds: readonly string[]
}

export interface DeploymentOptions {
  readonly store: DeploymentStore
  readonly clock: Clock
  /** Called with the id of each changed deployment, before the response is sent. */
  readonly onChange: (deploymentId: string) => void
}

/** Result of a traffic request. */
export interface TrafficChanged {
  readonly action: TrafficAction
  readonly deployment: Deployment
  /** The entry that was added, updated or removed. */
  readonly challenger: Challenger | null
}

/** Finds the id of a challenger entry in the present state. */
export type EntryPick = (present: Deployment, read: ChangeReader) => string | Promise<string>

/** Result of a promotion or a rollback. */
export interface Succession {
  readonly before: Deployment
  readonly after: Deployment
  /** Number of deactivated challengers, without the promoted one. */
  readonly deactivatedCount: number
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
   * Renames a deployment, switches it on or off, or sets strict mode.
   *
   * @throws AppError `deployment_not_found`
   */
  async update(
    actor: Actor,
    slug: string,
    wanted: {
      readonly name?: string | undefined
      readonly isActive?: boolean | undefined
      readonly strictMode?: boolean | undefined
    },
  ): Promise<Deployment> {
    const { after } = await this.change(actor, slug, async (present) => {
      const { name = present.name, isActive = present.isActive } = wanted
      const { strictMode = present.strictMode } = wanted
      const altersAnswers = isActive !== present.isActive || strictMode !== present.strictMode
      const cacheVersion = present.cacheVersion + (altersAnswers ? 1 : 0)
      return {
        action: 'deployment.update',
        challengerId: null,
        next: { ...present, name, isActive, strictMode, cacheVersion },
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
    const settings = readTrafficSettings(body)
    const addedAt = new Date(this.options.clock.epochMs())
    const changed = await this.change(actor, slug, async (present, read) => {
      // 404 takes precedence over 422.
      const model = settings.modelId === null ? null : await modelOf(read, settings.modelId)
      if (settings.challengerId !== null) challengerOf(present, settings.challengerId)
      if (settings.faults.length > 0) throw trafficFault(settings.faults)
      const { challengerId, trafficPct, shadowMode } = settings
      if (model !== null && trafficPct !== null) {
        const entry = { id: newId('ch_', addedAt.getTime()), model, trafficPct, addedAt }
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
    const { action } = settings
    if (action === null) throw new TypeError('a traffic request without an action was accepted')
    return { action, deployment: changed.after, challenger: challengerIn(changed) }
  }

  /**
   * Makes a challenger's model the champion.
   *
   * @param pick finds the id of the challenger entry within the transaction
   * @throws AppError `deployment_not_found`, `challenger_not_found`, and the errors of `pick`
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
   * Makes a change that `decide` derives from the present state, within the same transaction.
   *
   * @throws AppError `deployment_not_found`, and the errors of `decide`
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

/**
 * The challenger entry that the change concerns: its new state, or its last one if it was removed.
 */
export function challengerIn({ before, after, challengerId }: Changed): Challenger | null {
  const present = after.challengers.find(({ id }) => id === challengerId)
  if (present !== undefined) return present
  const removed = before.challengers.find(({ id }) => id === challengerId)
  return removed === undefined ? null : { ...removed, isActive: false }
}

async function modelOf(read: ChangeReader, modelId: string): Promise<Candidate> {
  const model = isId(modelId, 'mod_') ? await read.model(modelId) : null
  if (model === null) throw new AppError('model_not_found', 'there is no model with this id')
  return model
}

/** Only for unknown deployments: management also finds inactive ones. */
function notFound(): AppError {
  return new AppError('deployment_not_found', 'there is no deployment with this slug')
}
