import type { Environment } from '../auth/caller.ts'
import type { Clock } from '../clock.ts'
import { checkSpec, compileModel, ScoreSheet } from '../engine/index.ts'
import { isId } from '../ids.ts'
import { type CacheLookups, RecheckedCache } from '../rechecked-cache.ts'
import { ModelParts } from '../scorelog/model-parts.ts'
import { DeploymentTexts } from '../scorelog/record-texts.ts'
import { AnswerParts } from './answer.ts'
import type { ChallengerFaults } from './challenger-faults.ts'
import { drawTable } from './draw.ts'

/** A deployment as the database has it, all of one moment. */
export interface DeploymentState {
  readonly deploymentId: string
  readonly teamId: string
  readonly environment: Environment
  readonly isActive: boolean
  readonly shadowMode: boolean
  readonly cacheVersion: number
  readonly championModelId: string
  /** Active ones, oldest first. */
  readonly challengers: readonly ChallengerState[]
}

export interface ChallengerState {
  readonly challengerId: string
  readonly modelId: string
  /** Its buckets in a live split, see `allotBuckets`. */
  readonly bucketRanges: readonly number[]
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
  /** Of its results in the score log. */
  readonly logged: ModelParts
}

export interface ServingChallenger {
  readonly challengerId: string
  /** Null where the model can't be made ready: it then neither answers nor harms. */
  readonly serving: ServingModel | null
  /** What its shadow scores begin with. */
  readonly shadowText: string
}

/** One consistent state of a deployment; a request uses one from its start to its end. */
export interface ServingDeployment {
  readonly state: DeploymentState
  readonly champion: ServingModel
  readonly challengers: readonly ServingChallenger[]
  /** In a live split: who answers each bucket. */
  readonly draws: Int16Array | null
  /** Of its records in the score log. */
  readonly logTexts: DeploymentTexts
}

export interface ServingCacheOptions {
  readonly store: ServingStore
  readonly clock: Clock
  readonly ttlMs: number
  /** The same while the database is away. */
  readonly unavailableTtlMs: number
  readonly challengerFaults: ChallengerFaults
}

/** Of compiled models; above it the least recently used deployments leave, and are compiled anew. */
const CACHED_BYTES_MAX = 512 * 1024 * 1024

/** Deployments with their models compiled; staleness and bounds are those of `RecheckedCache`. */
export class ServingCache {
  private readonly options: ServingCacheOptions
  private readonly deployments: RecheckedCache<ServingDeployment>

  constructor(options: ServingCacheOptions) {
    this.options = options
    this.deployments = new RecheckedCache<ServingDeployment>({
      load: (deploymentId, previous) => this.load(deploymentId, previous),
      clock: options.clock,
      ttlMs: options.ttlMs,
      unavailableTtlMs: options.unavailableTtlMs,
      weightMax: CACHED_BYTES_MAX,
      weightOf,
    })
  }

  /** The deployment, active or not, or null; at once when it is warm. */
  get(deploymentId: string): ServingDeployment | null | Promise<ServingDeployment | null> {
    return isId(deploymentId, 'dep_') ? this.deployments.get(deploymentId) : null
  }

  get lookups(): CacheLookups {
    return this.deployments.lookups
  }

  /** Tells that a deployment has changed: the next request is answered with its new state. */
  expire(deploymentId: string): void {
    this.deployments.expire(deploymentId)
  }

  /** Tells that any deployment may have changed. */
  mistrust(): void {
    this.deployments.mistrust()
  }

  /** A model never changes, so a re-check compiles only those that are new. */
  private async load(
    deploymentId: string,
    previous: ServingDeployment | null,
  ): Promise<ServingDeployment | null> {
    const state = await this.options.store.deploymentState(deploymentId)
    if (state === null) return null
    const held = new Map(modelsOf(previous).map((serving) => [serving.modelId, serving]))
    const ready = async (modelId: string) => held.get(modelId) ?? this.compile(modelId)
    const [champion, ...challengers] = await Promise.all([
      ready(state.championModelId),
      ...state.challengers.map(async ({ challengerId, modelId }) => {
        const serving = await ready(modelId).catch((error: unknown) => {
          this.options.challengerFaults.note({ deploymentId, challengerId }, error)
          return null
        })
        return { challengerId, serving, shadowText: shadowText(challengerId, serving) }
      }),
    ])
    const isLiveSplit = !state.shadowMode && challengers.length > 0
    const draws = isLiveSplit ? drawTable(state.challengers) : null
    return { state, champion, challengers, draws, logTexts: logTextsOf(state) }
  }

  private async compile(modelId: string): Promise<ServingModel> {
    const check = checkSpec(await this.options.store.specOf(modelId))
    if (!check.ok) throw new Error(`the stored spec of ${modelId} is not valid`)
    const model = compileModel(check.spec)
    return {
      modelId,
      sheet: new ScoreSheet(model),
      answer: new AnswerParts(model),
      logged: new ModelParts(model),
    }
  }
}

function logTextsOf(state: DeploymentState): DeploymentTexts {
  const champion = { modelId: state.championModelId, challengerId: null }
  return new DeploymentTexts(state, [champion, ...state.challengers])
}

function shadowText(challengerId: string, serving: ServingModel | null): string {
  const version = JSON.stringify(serving?.sheet.model.version ?? '')
  return `{"challenger_id":"${challengerId}","model_id":"${serving?.modelId}","version":${version},`
}

function modelsOf(deployment: ServingDeployment | null): ServingModel[] {
  if (deployment === null) return []
  const challengers = deployment.challengers.flatMap(({ serving }) => serving ?? [])
  return [deployment.champion, ...challengers]
}

/** The parts of answers, as text and as bytes, are as large as the tables each. */
function weightOf(deployment: ServingDeployment): number {
  const bytes = modelsOf(deployment).map(({ sheet }) => 3 * sheet.model.sizeBytes)
  return bytes.reduce((sum, size) => sum + size, deployment.draws?.byteLength ?? 0)
}
