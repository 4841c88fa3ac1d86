import type { Actor } from '../../audit/record.ts'
import { AppError } from '../../errors.ts'
import type { Clock } from '../../platform/clock.ts'
import { newId } from '../../platform/ids/ids.ts'
import type { Candidate, Challenger, ChangeReader, Deployment } from '../deployment.ts'
import {
  type Changed,
  challengerIn,
  type DeploymentService,
  doneAs,
  type Outcome,
  type Succession,
} from '../service.ts'
import { trafficFault } from '../succession.ts'
import { type ChallengerSettings, readChallengerSettings } from './challenger-settings.ts'

/** A deployment with the challenger that was added or removed. */
export interface ChallengerChanged {
  readonly deployment: Deployment
  readonly challenger: Challenger
}

/**
 * Deployment management under `/api/v1`, where a version names a model: the newest active model
 * with this version and the champion's name, team and environment.
 */
export class ScorecardService {
  private readonly deployments: DeploymentService
  private readonly clock: Clock

  constructor(deployments: DeploymentService, clock: Clock) {
    this.deployments = deployments
    this.clock = clock
  }

  /**
   * Adds a version as a challenger and sets the mode of the deployment.
   *
   * @param body any JSON value
   * @throws AppError `deployment_not_found`, `model_not_found`, `invalid_traffic_config`,
   *   `limit_reached`
   */
  async addChallenger(
    actor: Actor,
    slug: string,
    body: unknown,
  ): Promise<Outcome<ChallengerChanged>> {
    const settings = readChallengerSettings(body)
    const challengerId = newId('ch_', this.clock.epochMs())
    const outcome = await this.deployments.order(actor, slug, async (present, read) => {
      const { version } = settings
      const model = version === null ? null : newest(await versionsOf(present, read, version))
      const { mode, trafficPct } = wellFormed(settings)
      if (model === null) throw new TypeError('well-formed settings name a version')
      const shadowMode = mode === 'shadow'
      return {
        action: 'add_challenger',
        challengerId,
        modelId: model.id,
        trafficPct,
        shadowMode,
        isLimited: !shadowMode,
      }
    })
    return doneAs(outcome, challengerChanged)
  }

  /**
   * @throws AppError `deployment_not_found`, `model_not_found`, `challenger_not_found`,
   *   `limit_reached`
   */
  async removeChallenger(
    actor: Actor,
    slug: string,
    version: string,
  ): Promise<Outcome<ChallengerChanged>> {
    const outcome = await this.deployments.order(actor, slug, async (present, read) => ({
      action: 'remove_challenger',
      challengerId: await entryIdOf(present, read, version),
    }))
    return doneAs(outcome, challengerChanged)
  }

  /**
   * @throws AppError `deployment_not_found`, `model_not_found`, `challenger_not_found`,
   *   `limit_reached`
   */
  promote(
    actor: Actor,
    slug: string,
    { version, reason }: { version: string; reason?: string | undefined },
  ): Promise<Outcome<Succession>> {
    return this.deployments.promote(actor, slug, async (present, read) => ({
      action: 'promote',
      challengerId: await entryIdOf(present, read, version),
      reason,
    }))
  }
}

function challengerChanged(changed: Changed): ChallengerChanged {
  const challenger = challengerIn(changed)
  if (challenger === null) throw new TypeError('the changed deployment lacks the challenger')
  return { deployment: changed.after, challenger }
}

/** @throws AppError `invalid_traffic_config` */
function wellFormed(settings: ChallengerSettings): { mode: 'shadow' | 'live'; trafficPct: number } {
  const { mode, trafficPct, faults } = settings
  if (faults.length > 0 || mode === null || trafficPct === null) throw trafficFault(faults)
  return { mode, trafficPct }
}

/** @throws AppError `model_not_found` */
async function versionsOf(
  present: Deployment,
  read: ChangeReader,
  version: string,
): Promise<readonly Candidate[]> {
  // No stored version contains NUL or lone surrogates, and PostgreSQL rejects them in a query.
  const isStorable = !version.includes('\0') && version.isWellFormed()
  const models = isStorable ? await read.modelsOfVersion(present, version) : []
  if (models.length > 0) return models
  const { champion, environment } = present
  throw new AppError(
    'model_not_found',
    `there is no active model ${champion.name} with this version for ${environment}`,
  )
}

function newest([first]: readonly Candidate[]): Candidate | null {
  return first ?? null
}

/** If several models have the version, it means the one that is a challenger here. */
async function entryIdOf(
  present: Deployment,
  read: ChangeReader,
  version: string,
): Promise<string> {
  const models = await versionsOf(present, read, version)
  const entry = present.challengers.find(({ model }) => models.some(({ id }) => id === model.id))
  if (entry !== undefined) return entry.id
  throw new AppError(
    'challenger_not_found',
    'this version is not an active challenger of this scorecard',
  )
}
