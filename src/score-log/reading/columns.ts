import type { BlockGroup, OpenBlock } from '../blocks/block.ts'
import type { LoggedModel, LoggedRequest } from '../record/logged-request.ts'
import type { ModelsById } from '../record/model-source.ts'
import type { ScanQuery } from './log-query.ts'

/** The results of one model, with one item for each applicant. */
export interface ScannedModel {
  readonly modelId: string
  readonly role: 'champion' | 'challenger'
  readonly challengerId: string | null
  /** 1 where the model gave a result, 0 where it failed. */
  readonly scored: Uint8Array
  readonly scores: Float64Array
  /** NaN where there is none. */
  readonly pds: Float64Array
  /** Index in `gradeNames`; none where that has no such index. */
  readonly grades: ArrayLike<number>
  readonly gradeNames: readonly string[]
}

/** Applicants of requests that the same models scored. */
export interface ScannedColumns {
  /** Champion first. */
  readonly models: readonly ScannedModel[]
  /** Indexes of the applicants that were asked for. */
  readonly wanted: Int32Array
  /** Index of each applicant's request, for the functions below. */
  readonly requestOfRow: Int32Array
  scoredAtMs(request: number): number
  latencyMs(request: number): number
  /** Number of applicants of the request. */
  applicants(request: number): number
  /** Position of the model that answered. */
  served(request: number): number
}

/** The columns of a part of a block. */
export function columnsOfBlock(
  block: OpenBlock,
  models: ModelsById,
  query: ScanQuery,
): ScannedColumns[] {
  return block.groups.flatMap((group, index) => {
    const wanted = wantedRows(block, group, query)
    if (wanted.length === 0) return []
    return {
      models: group.models.map((model, position) => ({
        modelId: model.modelId,
        role: model.role,
        challengerId: model.challengerId,
        scored: model.scored,
        ...block.results(index, position, models),
        gradeNames: models.get(model.modelId)?.grades.names ?? [],
      })),
      wanted,
      requestOfRow: group.requestOfRow,
      scoredAtMs: (request: number) => block.scoredAtMs(request),
      latencyMs: (request: number) => block.latencyMs(request),
      applicants: (request: number) => block.applicants(request),
      served: (request: number) => block.served(request),
    }
  })
}

/** Indexes of the rows of a group that a query asks for. */
export function wantedRows(block: OpenBlock, group: BlockGroup, query: ScanQuery): Int32Array {
  const { teamId, deploymentId, fromMs, toMs } = query
  const isOther = deploymentId !== null && group.deploymentId !== deploymentId
  if (group.teamId !== teamId || isOther) return new Int32Array()
  const rows: number[] = []
  for (let row = 0; row < group.rows; row++) {
    const atMs = block.scoredAtMs(group.requestOfRow[row] ?? 0)
    if (atMs >= fromMs && atMs < toMs) rows.push(row)
  }
  return Int32Array.from(rows)
}

/** The columns of requests: one part for each set of models. */
export function columnsOfRequests(requests: readonly LoggedRequest[]): ScannedColumns[] {
  const parts = new Map<string, LoggedRequest[]>()
  for (const request of requests) {
    if (request.rows.length === 0) continue
    const name = request.models.map(nameOf).join()
    const part = parts.get(name)
    if (part === undefined) parts.set(name, [request])
    else part.push(request)
  }
  return [...parts.values()].map(columnsOfPart)
}

const nameOf = ({ modelId, challengerId }: LoggedModel) => `${modelId} ${challengerId}`

function columnsOfPart(requests: readonly LoggedRequest[]): ScannedColumns {
  const rows = requests.flatMap((request, index) => request.rows.map((row) => ({ row, index })))
  const [first] = requests
  const models = (first?.models ?? []).map(({ modelId, role, challengerId }, position) => {
    const columns = {
      scored: new Uint8Array(rows.length),
      scores: new Float64Array(rows.length).fill(Number.NaN),
      pds: new Float64Array(rows.length).fill(Number.NaN),
      grades: new Int16Array(rows.length).fill(-1),
    }
    const gradeIndexes = new Map<string, number>()
    for (const [index, { row }] of rows.entries()) {
      const result = row.results[position] ?? null
      if (result === null) continue
      columns.scored[index] = 1
      columns.scores[index] = result.score
      columns.pds[index] = result.pd ?? Number.NaN
      const { grade } = result
      if (grade === null) continue
      if (!gradeIndexes.has(grade)) gradeIndexes.set(grade, gradeIndexes.size)
      columns.grades[index] = gradeIndexes.get(grade) ?? -1
    }
    return { modelId, role, challengerId, ...columns, gradeNames: [...gradeIndexes.keys()] }
  })
  const at = (request: number): LoggedRequest => {
    const found = requests[request]
    if (found === undefined) throw new RangeError('there is no such request')
    return found
  }
  return {
    models,
    wanted: Int32Array.from(rows.keys()),
    requestOfRow: Int32Array.from(rows, ({ index }) => index),
    scoredAtMs: (request) => at(request).scoredAtMs,
    latencyMs: (request) => at(request).latencyMs,
    applicants: (request) => at(request).rows.length,
    served: (request) => at(request).served,
  }
}
