import type { OpenBlock } from '../blocks/block-decoder.ts'
import type { BlockGroup } from '../blocks/group-decoder.ts'
import type { ModelsById } from '../record/model-source.ts'

/** Scores, probabilities and grades as they were logged, one item for each row. */
export interface LoggedResults {
  readonly scores: Float64Array
  /** NaN where there is none. */
  readonly pds: Float64Array
  readonly readGrade: (row: number) => string | null
}

/** The results of one model for each row. */
export interface CellModel {
  readonly modelId: string
  readonly role: 'champion' | 'challenger'
  readonly challengerId: string | null
  /** Hash that was logged; null for a challenger that could not be loaded. */
  readonly specSha256: string | null
  /** 1 where the model gave a result, 0 where it failed. */
  readonly scored: Uint8Array
  /** Cells, an array for each feature in spec order. */
  readonly cells: readonly ArrayLike<number>[]
  /** @throws Error if the results are not stored and do not follow from the model */
  results(): LoggedResults
}

/** Applicants of requests that the same models scored, with their cells. */
export interface CellColumns {
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
  reference(row: number): string | null
}

/** The cells of a block, one part for each of its groups with a wanted row. */
export function cellColumnsOfBlock(
  block: OpenBlock,
  models: ModelsById,
  readWanted: (group: BlockGroup) => Int32Array,
): CellColumns[] {
  return block.groups.flatMap((group, index) => {
    const wanted = readWanted(group)
    if (wanted.length === 0) return []
    const requestAt = (row: number) => group.requestOfRow[row] ?? 0
    const recordIndex = (row: number) => row - block.findFirstRow(requestAt(row))
    return {
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
          return { scores, pds, readGrade: (row: number) => names[grades[row] ?? -1] ?? null }
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
