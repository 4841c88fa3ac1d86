import { hash } from 'node:crypto'
import {
  checkStoredSteps,
  compileReasons,
  compileSteps,
  ModelScore,
  type Steps,
} from '../engine/index.ts'
import { ModelParts, PreparedHead, RecordBytes } from '../log/index.ts'
import { storedJsonSteps } from '../platform/json.ts'
import { runInTurns } from '../platform/turn-taker.ts'
import { assignmentTable } from './evaluate-models.ts'
import type { ReasonBaseline } from './reason-baseline.ts'
import { ReasonTexts } from './reason-texts.ts'
import { ResponseParts } from './response.ts'
import type { DeploymentState, ServingDeployment, ServingModel } from './serving.ts'

/** The source from which a model is made ready. Models and baselines never change. */
export interface ModelSource {
  /** The spec of a registered model, or null when there is none. */
  readSpec(modelId: string): Promise<StoredSpec | null>
  baseline(baselineId: string): Promise<ReasonBaseline | null>
}

export interface StoredSpec {
  readonly spec: unknown
  /** SHA-256 of the text in which it is stored, as it was sent. */
  readonly sha256: Uint8Array
}

/** @param text in which a spec is stored */
export function* storedSpecSteps(text: string): Steps<StoredSpec> {
  const spec = yield* storedJsonSteps(text)
  return { spec, sha256: hash('sha256', text, 'buffer') }
}

interface MakeOptions {
  readonly store: ModelSource
  /** Models that are ready already, by id. */
  readonly held: ReadonlyMap<string, ServingModel>
  /** Receives why a challenger can't be made ready; it then scores nothing. */
  readonly onFault: (challengerId: string, error: unknown) => void
}

/**
 * Makes a state of a deployment ready to score.
 *
 * @throws Error if the champion can't be made ready
 */
export async function makeServing(
  state: DeploymentState,
  { store, held, onFault }: MakeOptions,
): Promise<ServingDeployment> {
  const ready = async (modelId: string, baselineId: string | null) =>
    withBaseline(store, held.get(modelId) ?? (await compile(store, modelId)), baselineId)
  const [alone, ...others] = await Promise.all([
    ready(state.championModelId, state.baselineId),
    ...state.challengers.map(({ challengerId, modelId, baselineId }) =>
      ready(modelId, baselineId).catch((error: unknown) => {
        onFault(challengerId, error)
        return null
      }),
    ),
  ])
  const names = featureNames([alone, ...others])
  const champion = besideOthers(alone, names)
  const challengers = state.challengers.map(({ challengerId }, position) => {
    const other = others[position] ?? null
    const serving = other === null ? null : besideOthers(other, names)
    return {
      challengerId,
      serving,
      shadowText: shadowText(challengerId, serving),
      ownFeatures: serving === null ? [] : featuresBeyond(champion, serving),
    }
  })
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

async function compile(store: ModelSource, modelId: string): Promise<ServingModel> {
  const stored = await store.readSpec(modelId)
  if (stored === null) throw new Error(`${modelId} has no spec`)
  return runInTurns(compileStored(modelId, stored))
}

/** In steps: the largest legal card takes a tenth of a second, for which no score may wait. */
function* compileStored(
  modelId: string,
  { spec: stored, sha256 }: StoredSpec,
): Steps<ServingModel> {
  const check = yield* checkStoredSteps(stored)
  if (!check.ok) throw new Error(`the stored spec of ${modelId} is not valid`)
  const { spec } = check
  const model = yield* compileSteps(spec)
  const rules = compileReasons(spec, model)
  yield
  const responseParts = yield* ResponseParts.make(model)
  const reasonTexts = ReasonTexts.of(spec, model, rules, null)
  return {
    modelId,
    modelScore: new ModelScore(model),
    responseParts,
    logParts: new ModelParts(model, sha256),
    reasonTexts,
    baselineId: null,
    reasonSource: rules === null ? null : { spec, rules },
  }
}

function featureNames(models: readonly (ServingModel | null)[]): ReadonlySet<string> {
  return new Set(models.flatMap((serving) => serving?.modelScore.model.featureNames ?? []))
}

/** @param names features of all models of the deployment */
function besideOthers(serving: ServingModel, names: ReadonlySet<string>): ServingModel {
  const { model, others: known } = serving.modelScore
  const others = new Set([...names].filter((name) => !model.featureIndex.has(name)))
  if (others.size === 0 && known === null) return serving
  // A state that is still in use has its own: a model is shared by states, and by deployments.
  return { ...serving, modelScore: new ModelScore(model, others.size === 0 ? null : others) }
}

/** @returns indexes of a challenger's features that the champion does not have */
function featuresBeyond(champion: ServingModel, { modelScore }: ServingModel): readonly number[] {
  const { featureIndex } = champion.modelScore.model
  return modelScore.model.features
    .filter(({ name }) => !featureIndex.has(name))
    .map(({ index }) => index)
}

async function withBaseline(
  store: ModelSource,
  serving: ServingModel,
  baselineId: string | null,
): Promise<ServingModel> {
  const { reasonSource, modelScore } = serving
  if (serving.baselineId === baselineId || reasonSource === null) return serving
  const { spec, rules } = reasonSource
  const baseline = baselineId === null ? null : await store.baseline(baselineId)
  const reasonTexts = ReasonTexts.of(spec, modelScore.model, rules, baseline)
  return { ...serving, baselineId, reasonTexts }
}

function shadowText(challengerId: string, serving: ServingModel | null): string {
  const version = JSON.stringify(serving?.modelScore.model.version ?? '')
  return `{"challenger_id":"${challengerId}","model_id":"${serving?.modelId}","version":${version},`
}
