import type { Environment } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import { checkSpec, compileModel, ScoreSheet } from '../engine/index.ts'
import { isId } from '../ids.ts'
import { RecheckedCache } from '../rechecked-cache.ts'
import { AnswerParts } from './answer.ts'

/** A deployment as the database has it. */
export interface DeploymentState {
  readonly deploymentId: string
  readonly teamId: string
  readonly environment: Environment
  readonly isActive: boolean
  readonly cacheVersion: number
  readonly championModelId: string
}

/** What serving needs of the database. */
export interface ServingStore {
  deploymentState(deploymentId: string): Promise<DeploymentState | null>
  /** The spec of a registered model, or null when there is none. */
  specOf(modelId: string): Promise<unknown>
}

/** A model ready to score: compiled, with the parts of its answers written out. */
export interface ServingModel {
  readonly modelId: string
  /** Scratch space: filled and read within one turn of the event loop. */
  readonly sheet: ScoreSheet
  readonly answer: AnswerParts
}

/** One consistent state of a deployment; a request uses one from its start to its end. */
export interface ServingDeployment {
  readonly state: DeploymentState
  readonly champion: ServingModel
}

/** Of compiled models; above it the least recently used deployments leave, and are compiled anew. */
const CACHED_BYTES_MAX = 512 * 1024 * 1024

/** Deployments with their models compiled; staleness and bounds are those of `RecheckedCache`. */
export class ServingCache {
  private readonly store: ServingStore
  private readonly deployments: RecheckedCache<ServingDeployment>

  constructor(store: ServingStore, clock: Clock, ttlMs: number) {
    this.store = store
    this.deployments = new RecheckedCache<ServingDeployment>({
      load: (deploymentId, previous) => this.load(deploymentId, previous),
      clock,
      ttlMs,
      weightMax: CACHED_BYTES_MAX,
      // The texts of answers are as large again as the tables.
      weightOf: ({ champion }) => 2 * champion.sheet.model.sizeBytes,
    })
  }

  /** The deployment, active or not, or null; at once when it is warm. */
  get(deploymentId: string): ServingDeployment | null | Promise<ServingDeployment | null> {
    return isId(deploymentId, 'dep_') ? this.deployments.get(deploymentId) : null
  }

  /** A model never changes, so a re-check compiles only a champion that is new. */
  private async load(
    deploymentId: string,
    previous: ServingDeployment | null,
  ): Promise<ServingDeployment | null> {
    const state = await this.store.deploymentState(deploymentId)
    if (state === null) return null
    const champion =
      previous?.champion.modelId === state.championModelId
        ? previous.champion
        : await this.compile(state.championModelId)
    return { state, champion }
  }

  private async compile(modelId: string): Promise<ServingModel> {
    const check = checkSpec(await this.store.specOf(modelId))
    if (!check.ok) throw new Error(`the stored spec of ${modelId} is not valid`)
    const model = compileModel(check.spec)
    return { modelId, sheet: new ScoreSheet(model), answer: new AnswerParts(model) }
  }
}
