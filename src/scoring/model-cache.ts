import { checkStoredSpec, compileModel, compileReasons, ModelScore } from '../engine/index.ts'
import {
  type CacheLookups,
  StaleWhileRevalidateCache,
} from '../platform/caches/stale-while-revalidate.ts'
import type { Clock } from '../platform/clock.ts'
import { isId } from '../platform/ids/ids.ts'
import { ModelParts } from '../score-log/record/model-parts.ts'
import { PreparedHead } from '../score-log/record/prepared-head.ts'
import { RecordBytes } from '../score-log/record/record-bytes.ts'
import { assignmentTable } from './assign-model.ts'
import type { ChallengerFailures } from './challenger-failures.ts'
import type { ReasonBaseline } from './reason-baseline.ts'
import { ReasonTexts } from './reason-texts.ts'
import { ResponseParts } from './response.ts'
import type { DeploymentState, ServingDeployment, ServingModel } from './serving.ts'

/** The reads of the database that scoring needs. */
export interface ServingStore {
  deploymentState(deploymentId: string): Promise<DeploymentState | null>
  /** The spec of a registered model, or null when there is none. */
  specOf(modelId: string): Promise<StoredSpec | null>
  /** A reason baseline, which never changes. */
  baseline(baselineId: string): Promise<ReasonBaseline | null>
}

export interface StoredSpec {
  readonly spec: unknown
  /** SHA-256 of the text in which it is stored, as it was sent. */
  readonly sha256: Uint8Array
}

export interface ServingCacheOptions {
  readonly store: ServingStore
  readonly clock: Clock
  readonly ttlMs: number
  /** The same while the database is away. */
  readonly unavailableTtlMs: number
  readonly challengerFaults: ChallengerFailures
}

/** Limit of the compiled models. Beyond it, the least recently used deployments leave the cache. */
const CACHED_BYTES_MAX = 512 * 1024 * 1024

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
    const state = await this.options.store.deploymentState(deploymentId)
    if (state === null) return null
    const held = new Map(modelsOf(previous).map((serving) => [serving.modelId, serving]))
    const ready = async (modelId: string, baselineId: string | null) => {
      const serving = held.get(modelId) ?? (await this.compile(modelId))
      return this.withBaseline(serving, baselineId)
    }
    const [champion, ...challengers] = await Promise.all([
      ready(state.championModelId, state.baselineId),
      ...state.challengers.map(async ({ challengerId, modelId, baselineId }) => {
        const serving = await ready(modelId, baselineId).catch((error: unknown) => {
          this.options.challengerFaults.note({ deploymentId, challengerId }, error)
          return null
        })
        return { challengerId, serving, shadowText: shadowText(challengerId, serving) }
      }),
    ])
    const isLiveSplit = !state.shadowMode && challengers.length > 0
    const assignments = isLiveSplit ? assignmentTable(state.challengers) : null
    const models = [
      {
        modelId: state.championModelId,
        challengerId: null,
        baselineId: state.baselineId,
        parts: champion.logParts,
      },
      ...state.challengers.map(({ modelId, challengerId, baselineId }, position) => ({
        modelId,
        challengerId,
        baselineId,
        parts: challengers[position]?.serving?.logParts ?? null,
      })),
    ]
    const logHead = new PreparedHead(state, models)
    const logBytes = new RecordBytes(
      logHead,
      models.map(({ parts }) => parts),
    )
    return { state, champion, challengers, assignments, logHead, logBytes }
  }

  private async compile(modelId: string): Promise<ServingModel> {
    const stored = await this.options.store.specOf(modelId)
    const check = checkStoredSpec(stored?.spec)
    if (stored === null || !check.ok) throw new Error(`the stored spec of ${modelId} is not valid`)
    const { spec } = check
    const model = compileModel(spec)
    const rules = compileReasons(spec, model)
    return {
      modelId,
      modelScore: new ModelScore(model),
      responseParts: new ResponseParts(model),
      logParts: new ModelParts(model, stored.sha256),
      reasonTexts: ReasonTexts.of(spec, model, rules, null),
      baselineId: null,
      reasonSource: rules === null ? null : { spec, rules },
    }
  }

  private async withBaseline(
    serving: ServingModel,
    baselineId: string | null,
  ): Promise<ServingModel> {
    const { reasonSource, modelScore } = serving
    if (serving.baselineId === baselineId || reasonSource === null) return serving
    const { spec, rules } = reasonSource
    const baseline = baselineId === null ? null : await this.options.store.baseline(baselineId)
    const reasonTexts = ReasonTexts.of(spec, modelScore.model, rules, baseline)
    return { ...serving, baselineId, reasonTexts }
  }
}

function shadowText(challengerId: string, serving: ServingModel | null): string {
  const version = JSON.stringify(serving?.modelScore.model.version ?? '')
  return `{"challenger_id":"${challengerId}","model_id":"${serving?.modelId}","version":${version},`
}

function modelsOf(deployment: ServingDeployment | null): ServingModel[] {
  if (deployment === null) return []
  const challengers = deployment.challengers.flatMap(({ serving }) => serving ?? [])
  return [deployment.champion, ...challengers]
}

/** With its specification, and the texts of reasons in up to eight languages. */
const REASON_WEIGHT = 12

/** The parts of answers, as text and as bytes, are as large as the tables each. */
function weightOf(deployment: ServingDeployment): number {
  const bytes = modelsOf(deployment).map(
    ({ modelScore, reasonSource }) =>
      (reasonSource === null ? 3 : REASON_WEIGHT) * modelScore.model.sizeBytes,
  )
  return bytes.reduce((sum, size) => sum + size, deployment.assignments?.byteLength ?? 0)
}
