import { parseStoredJson } from '../../platform/json.ts'
import type { LoggedRequest, LoggedResult, LoggedRow } from '../record/logged-request.ts'

/** A request of the first form of the log: a row of the table `score_log`. */
export interface FirstFormRow {
  readonly request_id: string
  readonly scored_at_ms: number
  readonly latency_ms: number
  readonly team_id: string
  readonly deployment_id: string
  readonly key_id: string
  readonly cache_version: number
  readonly bucket: number | null
  readonly is_batch: boolean
  readonly served_model_id: string
  /** JSON text, see `RECORD_FIELDS`. */
  readonly results: string
}

/** The cell of a bin that gave points, and of none: the first form does not say why. */
const FIRST_BIN_CELL = 4
const UNKNOWN_CELL = -1

type StoredResult = readonly [number | null, number | null, string | null, number, string] | null

interface ResultsDocument {
  readonly models: readonly {
    readonly model_id: string
    readonly role: 'champion' | 'challenger'
    readonly challenger_id?: string
  }[]
  readonly results: readonly (readonly [string | number | null, ...StoredResult[]])[]
}

/** Reads a row of the first form. */
export function requestOfRow(row: FirstFormRow): LoggedRequest {
  const { models, results } = parseStoredJson(row.results) as ResultsDocument
  return {
    requestId: row.request_id,
    scoredAtMs: row.scored_at_ms,
    latencyMs: row.latency_ms,
    teamId: row.team_id,
    deploymentId: row.deployment_id,
    cacheVersion: row.cache_version,
    keyId: row.key_id,
    bucket: row.bucket,
    reference: null,
    isBatch: row.is_batch,
    served: models.findIndex(({ model_id }) => model_id === row.served_model_id),
    engineVersion: null,
    models: models.map(({ model_id, role, challenger_id }) => ({
      modelId: model_id,
      role,
      challengerId: challenger_id ?? null,
      specSha256: null,
      baselineId: null,
    })),
    rows: results.map((stored) => rowOf(stored, models.length, row.is_batch)),
  }
}

function rowOf(
  [id, ...stored]: ResultsDocument['results'][number],
  models: number,
  isBatch: boolean,
): LoggedRow {
  const results: (LoggedResult | null)[] = []
  for (let model = 0; model < models; model++) results.push(resultOf(stored[model] ?? null))
  return { id: isBatch ? id : null, results }
}

function resultOf(stored: StoredResult): LoggedResult | null {
  if (stored === null) return null
  const [score, pd, grade, warningCount, bins] = stored
  if (score === null) return null
  return { score, pd, grade, warningCount, cells: cellsOf(bins) }
}

/** @param bins `0,-1,12` */
function cellsOf(bins: string): number[] {
  return bins.split(',').map((text) => {
    const bin = Number(text)
    return bin < 0 ? UNKNOWN_CELL : FIRST_BIN_CELL + bin
  })
}

/**
 * Texts of which a batch has at least one in `results` if it holds the reference: ids stand at the
 * start of their row, as JSON.
 */
export function traceOf(reference: string): string[] {
  const number = Number(reference)
  const isNumber = reference.trim() !== '' && String(number) === reference
  const traces = [`[${JSON.stringify(reference)},`]
  if (isNumber) traces.push(`[${JSON.stringify(number)},`)
  return traces
}
