import type { CellColumns, CellModel } from '../../../src/log/reading/cell-columns.ts'
import type {
  LoggedModel,
  LoggedRequest,
  LoggedResult,
} from '../../../src/log/record/logged-request.ts'

/** The cells of requests: one part for each set of models. */
export function cellColumnsOfRequests(requests: readonly LoggedRequest[]): CellColumns[] {
  const parts = new Map<string, LoggedRequest[]>()
  for (const request of requests) {
    if (request.rows.length === 0) continue
    const name = request.models.map(({ modelId, challengerId }) => `${modelId} ${challengerId}`)
    const part = parts.get(name.join())
    if (part === undefined) parts.set(name.join(), [request])
    else part.push(request)
  }
  return [...parts.values()].map(columnsOfPart)
}

function columnsOfPart(requests: readonly LoggedRequest[]): CellColumns {
  const rows = requests.flatMap((request, index) =>
    request.rows.map((row, record) => ({ request, row, index, record })),
  )
  const at = (request: number): LoggedRequest => {
    const found = requests[request]
    if (found === undefined) throw new RangeError('there is no such request')
    return found
  }
  return {
    models: (requests[0]?.models ?? []).map((model, position) =>
      columnsOfModel(
        model,
        rows.map(({ row }) => row.results[position] ?? null),
      ),
    ),
    wanted: Int32Array.from(rows.keys()),
    requestOfRow: Int32Array.from(rows, ({ index }) => index),
    requestId: (request) => at(request).requestId,
    scoredAtMs: (request) => at(request).scoredAtMs,
    served: (request) => at(request).served,
    recordIndex: (row) => rows[row]?.record ?? 0,
    reference: (row) => {
      const found = rows[row]
      if (found === undefined) return null
      if (!found.request.isBatch) return found.request.reference
      return found.row.id === null ? null : String(found.row.id)
    },
  }
}

function columnsOfModel(model: LoggedModel, results: readonly (LoggedResult | null)[]): CellModel {
  const features = results.find((result) => result !== null)?.cells.length ?? 0
  return {
    ...model,
    scored: Uint8Array.from(results, (result) => (result === null ? 0 : 1)),
    cells: Array.from({ length: features }, (_, feature) =>
      Int32Array.from(results, (result) => result?.cells[feature] ?? 0),
    ),
    results: () => ({
      scores: Float64Array.from(results, (result) => result?.score ?? Number.NaN),
      pds: Float64Array.from(results, (result) => result?.pd ?? Number.NaN),
      readGrade: (row) => results[row]?.grade ?? null,
    }),
  }
}
