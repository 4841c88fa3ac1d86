import { hash } from 'node:crypto'
import { checkStoredSpec, compileModel, compileReasons, ModelScore } from '../engine/index.ts'
import { parseStoredJson } from '../platform/json.ts'
import { ModelParts } from '../score-log/record/model-parts.ts'
import { PreparedHead } from '../score-log/record/prepared-head.ts'
import { RecordBytes } from '../score-log/record/record-bytes.ts'
import { assignmentTable } from './assign-model.ts'
import type { ReasonBaseline } from './reason-baseline.ts'
import { ReasonTexts } from './reason-texts.ts'
import { ResponseParts } from './response.ts'
import type { DeploymentState, ServingDeployment, ServingModel } from './serving.ts'

/** What a model is made ready from. Models and baselines never change. */
export interface ModelStore {
  /** The spec of a registered model, or null when there is none. */
  specOf(modelId: string): Promise<StoredSpec | null>
  /** A reason baseline. */
  baseline(baselineId: string): Promise<ReasonBaseline | null>
}

export interface StoredSpec {
  readonly spec: unknown
  /** SHA-256 of the text in which it is stored, as it was sent. */
  readonly sha256: Uint8Array
}

/** @param text in which a spec is stored */
export function storedSpecOf(text: string): StoredSpec {
  return { spec: parseStoredJson(text), sha256: hash('sha256', text, 'buffer') }
}

interface MakeOptions {
  readonly store: ModelStore
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
  const [champion, ...challengers] = await Promise.all([
    ready(state.championModelId, state.baselineId),
    ...state.challengers.map(async ({ challengerId, modelId, baselineId }) => {
      const serving = await ready(modelId, baselineId).catch((error: unknown) => {
        onFault(challengerId, error)
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

async function compile(store: ModelStore, modelId: string): Promise<ServingModel> {
  const stored = await store.specOf(modelId)
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

async function withBaseline(
  store: ModelStore,
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
