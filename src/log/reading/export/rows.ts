import type { LoggedModel, LoggedRequest, LoggedResult } from '../../record/logged-request.ts'
import { loggedFeature } from '../logged-feature.ts'
import type { LoggedCard } from '../stored-models.ts'
import type { RowTexts } from './columns.ts'

const NO_BIN = '-1'

/** Makes the rows of a request: one for each applicant and model. */
export function* listRows(
  request: LoggedRequest,
  models: ReadonlyMap<string, LoggedCard>,
): Generator<RowTexts> {
  const ofRequest = requestTexts(request)
  const ofModels = request.models.map((model, position) => {
    const card = models.get(model.modelId) ?? UNKNOWN_CARD
    return { fields: modelTexts(model, card, position === request.served), card, model }
  })
  const reference = JSON.stringify(request.reference)
  const requestId = `"${request.requestId}"`
  const engineVersion = String(request.engineVersion)
  for (const [index, { id, results }] of request.rows.entries()) {
    const recordId = id === null ? 'null' : JSON.stringify(String(id))
    for (const [position, { fields, card, model }] of ofModels.entries()) {
      const row = [requestId, String(index), recordId, request.isBatch ? recordId : reference]
      for (const text of ofRequest) row.push(text)
      for (const text of fields) row.push(text)
      pushResult(row, results[position] ?? null, card)
      row.push(model.baselineId === null ? 'null' : `"${model.baselineId}"`, engineVersion)
      yield row
    }
  }
}

const UNKNOWN_CARD: LoggedCard = { name: '', version: '', specSha256: '', cells: null }

/** Ids of the service and names of outcomes need no escapes. */
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

function modelTexts(model: LoggedModel, card: LoggedCard, isServed: boolean): string[] {
  return [
    JSON.stringify(model.modelId),
    JSON.stringify(card.name),
    JSON.stringify(card.version),
    JSON.stringify(model.specSha256 ?? card.specSha256),
    JSON.stringify(model.role),
    JSON.stringify(model.challengerId),
    String(isServed),
  ]
}

/** Adds the fields from `score` to `outcomes`. */
function pushResult(
  row: string[],
  result: LoggedResult | null,
  { cells: model }: LoggedCard,
): void {
  if (result === null) {
    row.push('null', 'null', 'null', 'null', '[]', '[]')
    return
  }
  if (model === null) throw new Error('the spec of a logged model is not valid')
  const { score, pd, grade, warningCount, cells } = result
  let bins = ''
  let outcomes = ''
  for (let feature = 0; feature < cells.length; feature++) {
    const { bin, outcome } = loggedFeature(model, feature, cells[feature] ?? 0)
    const comma = feature === 0 ? '' : ','
    bins += comma + (bin === null ? NO_BIN : bin)
    outcomes += `${comma}"${outcome}"`
  }
  const gradeText = grade === null ? 'null' : JSON.stringify(grade)
  row.push(String(score), String(pd), gradeText, String(warningCount), `[${bins}]`, `[${outcomes}]`)
}
