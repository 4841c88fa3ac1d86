import type { BlockGroup, OpenBlock } from '../blocks/block.ts'
import type { LoggedModel, LoggedRequest, LoggedResult } from '../record/logged-request.ts'
import type { ModelsById } from '../record/model-source.ts'

/** Scores, probabilities and grades as they were logged, one item for each row. */
export interface LoggedResults {
  readonly scores: Float64Array
  /** NaN where there is none. */
  readonly pds: Float64Array
  readonly gradeOf: (row: number) => string | null
}

/** What one model gave for each row. */
export interface CellModel {
  readonly modelId: string
  readonly role: 'champion' | 'challenger'
  readonly challengerId: string | null
  /** Hash that was logged; null in the first form. */
  readonly specSha256: string | null
  /** 1 where the model gave a result, 0 where it failed. */
  readonly scored: Uint8Array
  /**
   * Cells, an array for each feature in spec order; see `LoggedResult` for those of the first form.
   */
  readonly cells: readonly ArrayLike<number>[]
  /** @throws Error if the results are not stored and do not follow from the model */
  results(): LoggedResults
}

/** Applicants of requests that the same models scored, with their cells. */
export interface CellColumns {
  readonly isFirstForm: boolean
  /** Champion first. */
  readonly models: readonly CellModel[]
  /** Indexes of the rows that were asked for. */
  readonly wanted: Int32Array
  /** Index of each row's request, for the functions below. */
  readonly requestOfRow: Int32Array
  requestId(request: number): string
  scoredAtMs(request: number): number
  /** Position of the model that answered. */
  served(request: number): number
  /** Index of a row among the records of its request. */
  recordIndex(row: number): number
  /** The reference of the applicant, or null. */
  reference(row: number): string | null
}

/** The cells of a block, one part for each of its groups with a wanted row. */
export function cellColumnsOfBlock(
  block: OpenBlock,
  models: ModelsById,
  wantedOf: (group: BlockGroup) => Int32Array,
): CellColumns[] {
  return block.groups.flatMap((group, index) => {
    const wanted = wantedOf(group)
    if (wanted.length === 0) return []
    const requestAt = (row: number) => group.requestOfRow[row] ?? 0
    const recordIndex = (row: number) => row - block.firstRowOf(requestAt(row))
    return {
      isFirstForm: false,
      models: group.models.map((model, position) => ({
        modelId: model.modelId,
        role: model.role,
        challengerId: model.challengerId,
        specSha256: model.specSha256,
        scored: model.scored,
        cells: model.cells,
        results: () => {
          const { scores, pds, grades } = block.results(index, position, models)
          const names = models.get(model.modelId)?.grades.names ?? []
          return { scores, pds, gradeOf: (row: number) => names[grades[row] ?? -1] ?? null }
        },
      })),
      wanted,
      requestOfRow: group.requestOfRow,
      requestId: (request: number) => block.requestId(request),
      scoredAtMs: (request: number) => block.scoredAtMs(request),
      served: (request: number) => block.served(request),
      recordIndex,
      reference: (row: number) => {
        const request = requestAt(row)
        if (!block.isBatch(request)) return block.reference(request)
        const id = block.recordId(request, recordIndex(row))
        return id === null ? null : String(id)
      },
    }
  })
}

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
    isFirstForm: requests[0]?.engineVersion === null,
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
      gradeOf: (row) => results[row]?.grade ?? null,
    }),
  }
}
