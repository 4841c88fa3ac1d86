import type { StoredModel } from '../../score-log/reading/stored-models.ts'
import type {
  LoggedModel,
  LoggedRequest,
  LoggedResult,
} from '../../score-log/record/logged-request.ts'
import { loggedFeature } from '../logged-feature.ts'
import type { RowTexts } from './columns.ts'

/** Models whose texts are kept; beyond it all are made again. */
const KEPT_MODELS_MAX = 200
const NO_BIN = '-1'

/** What the rows of one model have in common. */
interface ModelTexts {
  readonly stored: StoredModel
  /** Bin and outcome of each cell of each feature, made when they are first met. */
  readonly features: readonly Map<number, { readonly bin: string; readonly outcome: string }>[]
}

/** Makes the rows of requests. */
export class ExportRows {
  private readonly models = new Map<string, ModelTexts>()

  private textsOf(name: string, stored: StoredModel): ModelTexts {
    const kept = this.models.get(name)
    if (kept !== undefined) return kept
    if (this.models.size >= KEPT_MODELS_MAX) this.models.clear()
    const features = stored.card?.spec.features ?? []
    const made = { stored, features: features.map(() => new Map()) }
    this.models.set(name, made)
    return made
  }

  /** One row for each applicant and model. */
  *rowsOf(request: LoggedRequest, models: ReadonlyMap<string, StoredModel>): Generator<RowTexts> {
    const isFirstForm = request.engineVersion === null
    const ofRequest = requestTexts(request)
    const ofModels = request.models.map((model, position) => {
      const stored = models.get(model.modelId) ?? UNKNOWN_MODEL
      const isServed = position === request.served
      const texts = this.textsOf(`${model.modelId} ${isFirstForm}`, stored)
      return { fields: modelTexts(model, stored, isServed), texts, model }
    })
    const reference = JSON.stringify(request.reference)
    const requestId = `"${request.requestId}"`
    const engineVersion = String(request.engineVersion)
    for (const [index, { id, results }] of request.rows.entries()) {
      const recordId = id === null ? 'null' : JSON.stringify(String(id))
      for (const [position, { fields, texts, model }] of ofModels.entries()) {
        const row = [requestId, String(index), recordId, request.isBatch ? recordId : reference]
        for (const text of ofRequest) row.push(text)
        for (const text of fields) row.push(text)
        pushResult(row, results[position] ?? null, texts, isFirstForm)
        row.push(model.baselineId === null ? 'null' : `"${model.baselineId}"`, engineVersion)
        yield row
      }
    }
  }
}

const UNKNOWN_MODEL: StoredModel = {
  modelId: '',
  name: '',
  version: '',
  specSha256: '',
  card: null,
}

/** Ids of the service need no escapes. */
function requestTexts(request: LoggedRequest): string[] {
  return [
    `"${new Date(request.scoredAtMs).toISOString()}"`,
    `"${request.teamId}"`,
    `"${request.deploymentId}"`,
    String(request.cacheVersion),
    `"${request.keyId}"`,
    String(request.isBatch),
    String(request.bucket),
    String(request.latencyMs),
  ]
}

function modelTexts(model: LoggedModel, stored: StoredModel, isServed: boolean): string[] {
  return [
    JSON.stringify(model.modelId),
    JSON.stringify(stored.name),
    JSON.stringify(stored.version),
    JSON.stringify(model.specSha256 ?? stored.specSha256),
    JSON.stringify(model.role),
    JSON.stringify(model.challengerId),
    String(isServed),
  ]
}

/** Adds the fields from `score` to `outcomes`. */
function pushResult(
  row: string[],
  result: LoggedResult | null,
  texts: ModelTexts,
  isFirstForm: boolean,
): void {
  if (result === null) {
    row.push('null', 'null', 'null', 'null', '[]', '[]')
    return
  }
  const { score, pd, grade, warningCount, cells } = result
  let bins = ''
  let outcomes = ''
  for (let feature = 0; feature < cells.length; feature++) {
    const text = cellText(texts, feature, cells[feature] ?? 0, isFirstForm)
    const comma = feature === 0 ? '' : ','
    bins += comma + text.bin
    outcomes += comma + text.outcome
  }
  const gradeText = grade === null ? 'null' : JSON.stringify(grade)
  row.push(String(score), String(pd), gradeText, String(warningCount), `[${bins}]`, `[${outcomes}]`)
}

function cellText(
  { stored: { card }, features }: ModelTexts,
  feature: number,
  cell: number,
  isFirstForm: boolean,
) {
  const known = features[feature]?.get(cell)
  if (known !== undefined) return known
  if (card === null) throw new Error('the spec of a logged model is not valid')
  const { bin, outcome } = loggedFeature(card, feature, cell, isFirstForm)
  const text = {
    bin: bin === null ? NO_BIN : String(bin),
    outcome: JSON.stringify(outcome),
  }
  features[feature]?.set(cell, text)
  return text
}
