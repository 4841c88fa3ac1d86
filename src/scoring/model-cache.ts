import {
  type CacheLookups,
  StaleWhileRevalidateCache,
} from '../platform/caches/stale-while-revalidate.ts'
import type { Clock } from '../platform/clock.ts'
import { isId } from '../platform/ids.ts'
import type { ChallengerFailures } from './challenger-failures.ts'
import { type ModelSource, makeServing } from './make-serving.ts'
import type { DeploymentState, ServingDeployment, ServingModel } from './serving.ts'

/** The reads of the database that scoring needs. */
export interface ServingStore extends ModelSource {
  deploymentState(deploymentId: string): Promise<DeploymentState | null>
}

interface ServingCacheOptions {
  readonly store: ServingStore
  readonly clock: Clock
  readonly ttlMs: number
  /** The same while the database is away. */
  readonly unavailableTtlMs: number
  readonly challengerFaults: ChallengerFailures
}

/** Limit of the compiled models. Beyond it, the least recently used deployments leave the cache. */
const CACHED_BYTES_MAX = 512 * 1024 * 1024
/** Bytes that the deployments of one team may take of it. */
const TEAM_BYTES_MAX = CACHED_BYTES_MAX / 2

/** Deployments with compiled models. Its staleness is that of `StaleWhileRevalidateCache`. */
export class ServingCache {
  private readonly options: ServingCacheOptions
  private readonly deployments: StaleWhileRevalidateCache<ServingDeployment>

  constructor(options: ServingCacheOptions) {
    this.options = options
    this.deployments = new StaleWhileRevalidateCache<ServingDeployment>({
      load: (deploymentId, previous) => this.load(deploymentId, previous),
      clock: options.clock,
      ttlMs: options.ttlMs,
      unavailableTtlMs: options.unavailableTtlMs,
      weightMax: CACHED_BYTES_MAX,
      computeWeight,
      shares: { findOwner: ({ state }) => state.teamId, weightMax: TEAM_BYTES_MAX },
    })
  }

  /** The deployment, active or not, or null; at once when it is warm. */
  get(deploymentId: string): ServingDeployment | null | Promise<ServingDeployment | null> {
    return isId(deploymentId, 'dep_') ? this.deployments.get(deploymentId) : null
  }

  /** Loads a deployment before it is asked for, or looks at it again. */
  warm(deploymentId: string): unknown {
    return this.get(deploymentId)
  }

  /** Tells whether nothing is in memory for it, not even something old. */
  isUnknown(deploymentId: string): boolean {
    return this.deployments.isUnknown(deploymentId)
  }

  /** The deployment if it may be served from memory now, else null; it loads and counts nothing. */
  peek(deploymentId: string): ServingDeployment | null {
    return this.deployments.peek(deploymentId)
  }

  get lookups(): CacheLookups {
    return this.deployments.lookups
  }

  /** To be called when a deployment has changed: the next request uses its new state. */
  invalidate(deploymentId: string): void {
    this.deployments.invalidate(deploymentId)
  }

  /** To be called when any deployment may have changed. */
  invalidateAll(): void {
    this.deployments.invalidateAll()
  }

  /** Models and baselines never change, so a re-check makes ready only those that are new. */
  private async load(
    deploymentId: string,
    previous: ServingDeployment | null,
  ): Promise<ServingDeployment | null> {
    const { store, challengerFaults } = this.options
    const state = await store.deploymentState(deploymentId)
    if (state === null) return null
    return makeServing(state, {
      store,
      held: new Map(
        (previous === null ? [] : listModels(previous)).map((serving) => [
          serving.modelId,
          serving,
        ]),
      ),
      onFault: (challengerId, error) =>
        challengerFaults.note({ deploymentId, challengerId }, error),
    })
  }
}

/** The champion, and the challengers that could be made ready. */
export function listModels(deployment: ServingDeployment): ServingModel[] {
  const challengers = deployment.challengers.flatMap(({ serving }) => serving ?? [])
  return [deployment.champion, ...challengers]
}

/** The parts of answers, as text and as bytes, are as large as the tables each. */
const TABLES_WEIGHT = 3
/** The specification, which reasons need. */
const SPEC_WEIGHT = 2

/** Returns how many bytes a deployment takes that is ready to score, about. */
export function computeWeight(deployment: ServingDeployment): number {
  const bytes = listModels(deployment).map(({ modelScore, reasonSource, reasonTexts }) => {
    const weight = TABLES_WEIGHT + (reasonSource === null ? 0 : SPEC_WEIGHT)
    return weight * modelScore.model.sizeBytes + (reasonTexts?.heldBytesMax ?? 0)
  })
  return bytes.reduce((sum, size) => sum + size, deployment.assignments?.byteLength ?? 0)
}
