import { TurnTaker } from '../../platform/turn-taker.ts'
import type { LoggedModel, LoggedRequest, LoggedResult } from '../record/logged-request.ts'
import { loggedFeature } from './logged-feature.ts'
import type { ScorePage } from './service.ts'
import type { StoredModel } from './stored-models.ts'

/** Characters of a chunk of a long response. */
const CHUNK_CHARS = 64 * 1024

/**
 * Writes a logged score as JSON, in chunks.
 *
 * Not through an object and the schema: a page can hold a million features, and the text of a
 * feature is the same for every applicant in its bin.
 */
export async function* scoreTexts(page: ScorePage): AsyncGenerator<string> {
  const { request, models, first, end, nextCursor } = page
  const writers = request.models.map((model, position) =>
    resultWriter(model, models.get(model.modelId) ?? null, position === request.served),
  )
  const turns = new TurnTaker()
  let text = headText(request)
  for (let index = first; index < end; index++) {
    const row = request.rows[index]
    if (row === undefined) break
    const results = row.results.map((result, position) => writers[position]?.(result))
    const comma = index === first ? '' : ','
    text += `${comma}{"index":${index},"id":${JSON.stringify(row.id)},"results":[${results}]}`
    if (text.length < CHUNK_CHARS) continue
    yield text
    text = ''
    await turns.giveWay()
  }
  yield `${text}]${nextCursor === null ? '' : `,"next_cursor":"${nextCursor}"`}}`
}

function headText(request: LoggedRequest): string {
  const head = {
    request_id: request.requestId,
    deployment_id: request.deploymentId,
    scored_at: new Date(request.scoredAtMs).toISOString(),
    latency_ms: request.latencyMs,
    key_id: request.keyId,
    cache_version: request.cacheVersion,
    bucket: request.bucket,
    reference: request.reference,
    is_batch: request.isBatch,
    total: request.rows.length,
  }
  return `${JSON.stringify(head).slice(0, -1)},"records":[`
}

function resultWriter(
  { modelId, role, challengerId, specSha256 }: LoggedModel,
  stored: StoredModel | null,
  isServed: boolean,
): (result: LoggedResult | null) => string {
  const facts = {
    model_id: modelId,
    model_name: stored?.name ?? '',
    model_version: stored?.version ?? '',
    spec_sha256: specSha256 ?? stored?.specSha256 ?? '',
    role,
    challenger_id: challengerId,
    served: isServed,
  }
  const start = JSON.stringify(facts).slice(0, -1)
  const base = JSON.stringify(stored?.card?.spec.base_points ?? null)
  const failed = `${start},"score":null,"risk_grade":null,"pd":null,"base_points":${base},"features":[]}`
  const featureText = featureTexts(stored)
  return (result) => {
    if (result === null) return failed
    const { score, grade, pd } = result
    let features = ''
    for (const [feature, cell] of result.cells.entries()) {
      features += `${feature === 0 ? '' : ','}${featureText(feature, cell)}`
    }
    return `${start},"score":${JSON.stringify(score)},"risk_grade":${JSON.stringify(grade)},"pd":${JSON.stringify(pd)},"base_points":${base},"features":[${features}]}`
  }
}

/** The text of each feature and cell, made when it is first met. */
function featureTexts(stored: StoredModel | null) {
  const card = stored?.card ?? null
  const specs = card?.spec.features ?? []
  const texts = specs.map(() => new Map<number, string>())
  return (index: number, cell: number): string => {
    const known = texts[index]?.get(cell)
    if (known !== undefined) return known
    const feature = specs[index]
    if (card === null || feature === undefined)
      throw new Error('the log has a feature that its model lacks')
    const { points, bin, outcome } = loggedFeature(card.model, index, cell)
    const text = JSON.stringify({
      name: feature.name,
      points,
      outcome,
      bin: bin === null ? null : findBin(feature.bins[bin], bin),
    })
    texts[index]?.set(cell, text)
    return text
  }
}

/** Bins may have a label, which the engine ignores: a text, or texts by language. */
interface StoredBin {
  readonly range?: string
  readonly value?: string
  readonly label?: unknown
}

/** A bin of a spec as answers show it. */
export function findBin(bin: StoredBin | undefined, index: number) {
  const label = readLabel(bin?.label)
  return {
    index,
    ...(bin?.range !== undefined && { range: bin.range }),
    ...(bin?.value !== undefined && { value: bin.value }),
    ...(label !== null && { label }),
  }
}

function readLabel(label: unknown): string | null {
  if (typeof label === 'string') return label
  if (typeof label !== 'object' || label === null) return null
  const texts = Object.entries(label).filter(([, text]) => typeof text === 'string')
  const [first] = [...texts.filter(([language]) => language === 'en'), ...texts]
  return first === undefined ? null : String(first[1])
}
