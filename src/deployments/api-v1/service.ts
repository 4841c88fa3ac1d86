import type { Actor } from '../audit/record.ts'
import type { Clock } from '../clock.ts'
import { addChallenger, removeChallenger, trafficFault } from '../deployments/changes.ts'
import type { Candidate, Challenger, Deployment } from '../deployments/deployment.ts'
import {
  type ChangeReader,
  type DeploymentService,
  entryOf,
  type Succession,
} from '../deployments/service.ts'
import { TRAFFIC_PCT_MAX } from '../deployments/traffic-order.ts'
import { AppError } from '../errors.ts'
import { newId } from '../ids.ts'
import { type ChallengerOrder, readChallengerOrder } from './challenger-order.ts'

/** A challenger that came or went. */
export interface ChallengerChanged {
  readonly deployment: Deployment
  readonly challenger: Challenger
}

/**
 * The guides' form of deployment management: models are named by version. A version means the newest
 * active model that has it, among those of the champion's name, team and environment.
 */
export class ScorecardService {
  private readonly deployments: DeploymentService
  private readonly clock: Clock

  constructor(deployments: DeploymentService, clock: Clock) {
    this.deployments = deployments
    this.clock = clock
  }

  /**
   * Puts a version beside the champion, in shadow mode or in a live split; the mode becomes the deployment's.
   *
   * @param body any JSON value
   * @throws AppError `deployment_not_found`, `model_not_found`, `invalid_traffic_config`
   */
  async addChallenger(actor: Actor, slug: string, body: unknown): Promise<ChallengerChanged> {
    const order = readChallengerOrder(body)
    const addedAt = new Date(this.clock.epochMs())
    const id = newId('ch_', addedAt.getTime())
    const { before, after } = await this.deployments.change(actor, slug, async (present, read) => {
      const model =
        order.version === null ? null : newest(await versionsOf(present, read, order.version))
      const { mode, trafficPct } = wellFormed(order)
      if (model === null) throw new TypeError('a well-formed order names a version')
      const shadowMode = mode === 'shadow'
      const limitPct = shadowMode ? Number.POSITIVE_INFINITY : TRAFFIC_PCT_MAX
      return addChallenger(present, { id, model, trafficPct, addedAt, shadowMode }, limitPct)
    })
    return changedEntry(id, before, after)
  }

  /** @throws AppError `deployment_not_found`, `model_not_found`, `challenger_not_found` */
  async removeChallenger(actor: Actor, slug: string, version: string): Promise<ChallengerChanged> {
    let entryId = ''
    const { before, after } = await this.deployments.change(actor, slug, async (present, read) => {
      entryId = await entryIdOf(present, read, version)
      return removeChallenger(present, entryId)
    })
    return changedEntry(entryId, before, after)
  }

  /** @throws AppError `deployment_not_found`, `model_not_found`, `challenger_not_found` */
  promote(actor: Actor, slug: string, version: string): Promise<Succession> {
    return this.deployments.promote(actor, slug, (present, read) =>
      entryIdOf(present, read, version),
    )
  }
}

function changedEntry(entryId: string, before: Deployment, after: Deployment): ChallengerChanged {
  const challenger = entryOf(entryId, before, after)
  if (challenger === null) throw new TypeError('the entry of a change is in no state of it')
  return { deployment: after, challenger }
}

/** @throws AppError `invalid_traffic_config` */
function wellFormed(order: ChallengerOrder): { mode: 'shadow' | 'live'; trafficPct: number } {
  const { mode, trafficPct, faults } = order
  if (faults.length > 0 || mode === null || trafficPct === null) throw trafficFault(faults)
  return { mode, trafficPct }
}

/** @throws AppError `model_not_found` */
async function versionsOf(
  present: Deployment,
  read: ChangeReader,
  version: string,
): Promise<readonly Candidate[]> {
  // A text that no stored version can be, and that a database refuses.
  const isStorable = !version.includes('\0') && version.isWellFormed()
  const models = isStorable ? await read.modelsOfVersion(present, version) : []
  if (models.length > 0) return models
  const { champion, environment } = present
  throw new AppError(
    'model_not_found',
    `there is no active model ${champion.name} of this version for ${environment}`,
  )
}

function newest([first]: readonly Candidate[]): Candidate | null {
  return first ?? null
}

/** Where several models carry the version, the one that is a challenger here is meant. */
async function entryIdOf(
  present: Deployment,
  read: ChangeReader,
  version: string,
): Promise<string> {
  const models = await versionsOf(present, read, version)
  const entry = present.challengers.find(({ model }) => models.some(({ id }) => id === model.id))
  if (entry !== undefined) return entry.id
  throw new AppError('challenger_not_found', 'this version is no active challenger here')
}
