import {
  TRAFFIC_PCT_MAX as LIVE_PCT_MAX,
  SHADOW_PCT_MAX,
  TRAFFIC_PCT_MIN,
} from '../../../schemas/deployments.ts'
import { AppError, type ErrorDetail } from '../../errors.ts'
import type { Actor } from '../../identity/audit/record.ts'
import type { Clock } from '../../platform/clock.ts'
import { newId } from '../../platform/ids.ts'
import type { Candidate, Challenger, ChangeReader, Deployment } from './deployment.ts'
import type { FeatureChange } from './feature-change.ts'
import {
  challengerIn,
  type DeploymentService,
  doneAs,
  type Outcome,
  type Succession,
} from './service.ts'
import type { Changed } from './store.ts'
import { trafficFault } from './succession.ts'
import { ACCEPT_FEATURES } from './traffic-settings.ts'

/** A deployment with the challenger that was added or removed. */
interface ChallengerChanged {
  readonly deployment: Deployment
  readonly challenger: Challenger
  readonly features: FeatureChange | undefined
}

/** The valid fields of a request to add a challenger, and its faults. */
interface ChallengerSettings {
  readonly version: string | null
  readonly mode: 'shadow' | 'live' | null
  readonly trafficPct: number | null
  readonly acceptFeatures: boolean
  readonly faults: readonly ErrorDetail[]
}

const KNOWN_FIELDS = ['challenger_version', 'mode', 'traffic_pct', ACCEPT_FEATURES]

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
      const model = version === null ? null : newest(await findVersions(present, read, version))
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
        acceptFeatures: settings.acceptFeatures,
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
      challengerId: await findEntryId(present, read, version),
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
    { version, reason, accept_features: acceptFeatures }: PromoteCommand,
  ): Promise<Outcome<Succession>> {
    return this.deployments.promote(actor, slug, async (present, read) => ({
      action: 'promote',
      challengerId: await findEntryId(present, read, version),
      reason,
      acceptFeatures,
    }))
  }
}

interface PromoteCommand {
  readonly version: string
  readonly reason?: string | undefined
  readonly accept_features?: boolean | undefined
}

function challengerChanged(changed: Changed): ChallengerChanged {
  const challenger = challengerIn(changed)
  if (challenger === null) throw new TypeError('the changed deployment lacks the challenger')
  return { deployment: changed.after, challenger, features: changed.features }
}

/**
 * Reads the body of a request to add a challenger. It collects faults like `readTrafficSettings`.
 *
 * @param body any JSON value
 */
function readChallengerSettings(body: unknown): ChallengerSettings {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const faults = [{ path: '', message: 'must be an object' }]
    return { version: null, mode: null, trafficPct: null, acceptFeatures: false, faults }
  }
  const fields = body as Readonly<Record<string, unknown>>
  const { challenger_version: version, mode, traffic_pct: pct } = fields
  const faults: ErrorDetail[] = Object.keys(fields)
    .filter((name) => !KNOWN_FIELDS.includes(name))
    .map((path) => ({ path, message: 'is not a known property' }))
  const isVersion = typeof version === 'string'
  if (!isVersion) {
    faults.push({ path: 'challenger_version', message: 'must be the version of a model' })
  }
  const isMode = mode === 'shadow' || mode === 'live'
  if (!isMode) faults.push({ path: 'mode', message: 'must be shadow or live' })
  const pctMax = mode === 'live' ? LIVE_PCT_MAX : SHADOW_PCT_MAX
  const isPct = typeof pct === 'number' && pct >= TRAFFIC_PCT_MIN && pct <= pctMax
  if (!isPct) {
    const message = `must be a number from ${TRAFFIC_PCT_MIN} to ${pctMax}`
    faults.push({ path: 'traffic_pct', message })
  }
  const { [ACCEPT_FEATURES]: acceptFeatures = false } = fields
  if (typeof acceptFeatures !== 'boolean') {
    faults.push({ path: ACCEPT_FEATURES, message: 'must be true or false' })
  }
  return {
    acceptFeatures: acceptFeatures === true,
    version: isVersion ? version : null,
    mode: isMode ? mode : null,
    trafficPct: isPct ? pct : null,
    faults,
  }
}

/** @throws AppError `invalid_traffic_config` */
function wellFormed(settings: ChallengerSettings): { mode: 'shadow' | 'live'; trafficPct: number } {
  const { mode, trafficPct, faults } = settings
  if (faults.length > 0 || mode === null || trafficPct === null) throw trafficFault(faults)
  return { mode, trafficPct }
}

/** @throws AppError `model_not_found` */
async function findVersions(
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
async function findEntryId(
  present: Deployment,
  read: ChangeReader,
  version: string,
): Promise<string> {
  const models = await findVersions(present, read, version)
  const entry = present.challengers.find(({ model }) => models.some(({ id }) => id === model.id))
  if (entry !== undefined) return entry.id
  throw new AppError(
    'challenger_not_found',
    'this version is not an active challenger of this scorecard',
  )
}
