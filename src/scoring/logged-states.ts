import { AppError } from '../errors.ts'
import type { LoggedRequest } from '../log/index.ts'
import { StaleWhileRevalidateCache } from '../platform/caches/stale-while-revalidate.ts'
import type { Clock } from '../platform/clock.ts'
import { TeamQueue } from '../platform/team-limiter.ts'
import { type ModelSource, makeServing } from './make-serving.ts'
import { computeWeight, listModels, type ServingCache } from './model-cache.ts'
import type { DeploymentState, ServingDeployment } from './serving.ts'

interface LoggedStatesOptions {
  readonly cache: Pick<ServingCache, 'peek'>
  readonly models: ModelSource
  readonly clock: Clock
}

/** What of a state of a deployment decides about its answers. */
interface StateFacts {
  readonly deploymentId: string
  readonly teamId: string
  readonly isLiveSplit: boolean
  /** Champion first. */
  readonly models: readonly ModelFacts[]
}

interface ModelFacts {
  readonly modelId: string
  /** Null for the champion. */
  readonly challengerId: string | null
  readonly baselineId: string | null
  /** False for a challenger that could not be made ready. */
  readonly isReady: boolean
}

/**
 * Memory of states that are not served any more. A larger one than the part of a team is held all
 * the same, as the only one of its team: each retry would compile it anew.
 */
const BYTES_MAX = 64 * 1024 * 1024
const TEAM_BYTES_MAX = BYTES_MAX / 2
/** A client may ask again for many states, and the largest card takes a tenth of a second. */
const QUEUE = { atOnce: 2, ofTeamMax: 32, max: 128 }
/** The id of no model. */
const NOT_READY = ''

/**
 * The states of deployments as they were when requests were scored, ready to score.
 *
 * Who asks for the same one waits for the same compilation. A failure is never kept.
 */
export class LoggedStates {
  private readonly options: LoggedStatesOptions
  private readonly queue = new TeamQueue(QUEUE)
  private readonly former: StaleWhileRevalidateCache<ServingDeployment>

  constructor(options: LoggedStatesOptions) {
    this.options = options
    this.former = new StaleWhileRevalidateCache<ServingDeployment>({
      load: (name) => this.load(JSON.parse(name)),
      clock: options.clock,
      // Models and baselines never change.
      ttlMs: Number.POSITIVE_INFINITY,
      weightMax: BYTES_MAX,
      computeWeight: (deployment) => Math.min(TEAM_BYTES_MAX, computeWeight(deployment)),
      shares: { findOwner: ({ state }) => state.teamId, weightMax: TEAM_BYTES_MAX },
    })
  }

  /** @throws Error if a model that was ready then can't be made ready; AppError `unavailable` */
  async find(logged: LoggedRequest): Promise<ServingDeployment> {
    const current = this.options.cache.peek(logged.deploymentId)
    const name = JSON.stringify(factsLogged(logged))
    if (current !== null && JSON.stringify(factsServed(current)) === name) return current
    const found = await this.former.get(name)
    if (found === null) throw new Error('a state of a deployment was made of nothing')
    return found
  }

  private load(facts: StateFacts): Promise<ServingDeployment> {
    return this.queue.run(facts.teamId, () => this.make(facts), teamIsFull)
  }

  private async make(facts: StateFacts): Promise<ServingDeployment> {
    const { cache, models } = this.options
    const current = cache.peek(facts.deploymentId)
    const wereReady = new Set(facts.models.filter(({ isReady }) => isReady).map(readChallenger))
    const faults: unknown[] = []
    const deployment = await makeServing(toState(facts), {
      store: {
        readSpec: async (modelId) => (modelId === NOT_READY ? null : models.readSpec(modelId)),
        baseline: (baselineId) => models.baseline(baselineId),
      },
      held: new Map(
        (current === null ? [] : listModels(current)).map((serving) => [serving.modelId, serving]),
      ),
      onFault: (challengerId, error) => {
        if (wereReady.has(challengerId)) faults.push(error)
      },
    })
    // Without it, the state would be another one.
    if (faults.length > 0) throw faults[0]
    return deployment
  }
}

function readChallenger({ challengerId }: ModelFacts): string {
  return challengerId ?? ''
}

function factsLogged({ deploymentId, teamId, bucket, models }: LoggedRequest): StateFacts {
  return {
    deploymentId,
    teamId,
    // Only a live split has buckets.
    isLiveSplit: bucket !== null,
    models: models.map(({ modelId, challengerId, baselineId, specSha256 }) => ({
      modelId,
      challengerId,
      baselineId,
      isReady: specSha256 !== null,
    })),
  }
}

/** In the same order of properties: their texts are compared. */
function factsServed({ state, challengers, assignments }: ServingDeployment): StateFacts {
  const { deploymentId, teamId, championModelId: modelId, baselineId } = state
  return {
    deploymentId,
    teamId,
    isLiveSplit: assignments !== null,
    models: [
      { modelId, challengerId: null, baselineId, isReady: true },
      ...state.challengers.map((challenger, position) => ({
        modelId: challenger.modelId,
        challengerId: challenger.challengerId,
        baselineId: challenger.baselineId,
        isReady: challengers[position]?.serving !== null,
      })),
    ],
  }
}

function toState({ deploymentId, teamId, isLiveSplit, models }: StateFacts): DeploymentState {
  const [champion, ...challengers] = models
  if (champion === undefined) throw new Error('a logged request has no champion')
  return {
    deploymentId,
    teamId,
    cacheVersion: 0,
    environment: 'production',
    isActive: true,
    shadowMode: !isLiveSplit,
    strictMode: false,
    championModelId: champion.modelId,
    baselineId: champion.baselineId,
    challengers: challengers.map((challenger) => ({
      // By challenger, as another one of the same model can have been ready.
      modelId: challenger.isReady ? challenger.modelId : NOT_READY,
      challengerId: readChallenger(challenger),
      baselineId: challenger.baselineId,
      // The log says which model answered.
      bucketRanges: [],
    })),
  }
}

function teamIsFull(): AppError {
  const message =
    `${QUEUE.ofTeamMax} earlier states of the team's deployments are being made ready: ` +
    'try again in some seconds'
  return new AppError('unavailable', message)
}
