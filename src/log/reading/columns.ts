import type {
  BlockGroup,
  ModelColumns,
  NameHasher,
  OpenBlock,
  ResultColumns,
} from '../blocks/block.ts'
import type { LoggedModel, LoggedRequest } from '../record/logged-request.ts'
import type { ModelsById } from '../record/model-source.ts'
import type { ScanQuery } from './log-query.ts'

/** The results of one model, with one item for each applicant. */
export interface ScannedModel {
  readonly modelId: string
  readonly role: 'champion' | 'challenger'
  readonly challengerId: string | null
  /** The baseline of reasons in force then; null for none, and in the first form. */
  readonly baselineId: string | null
  /** 1 where the model gave a result, 0 where it failed. */
  readonly scored: Uint8Array
  readonly scores: Float64Array
  /** NaN where there is none. */
  readonly pds: Float64Array
  /** Index in `gradeNames`; none where that has no such index. */
  readonly grades: ArrayLike<number>
  readonly gradeNames: readonly string[]
  /** Cells of each feature in spec order, see `LoggedResult`; of no meaning where it failed. */
  readonly cells: readonly ArrayLike<number>[]
}

/** Applicants of requests that the same models scored. */
export interface ScannedColumns {
  /** Champion first. */
  readonly models: readonly ScannedModel[]
  /** Indexes of the applicants that were asked for. */
  readonly wanted: Int32Array
  /** Index of each applicant's request, for the functions below. */
  readonly requestOfRow: Int32Array
  requestId(request: number): string
  /** Position of an applicant in its request. */
  recordIndex(row: number): number
  /** Reference of a single request, or the id of a record as text; null for none. */
  reference(row: number): string | null
  /** Whether an applicant can have a reference. */
  readonly hasReferences: boolean
  /** Hands over the reference without making a string of it. @returns false without one */
  hashReference(row: number, hasher: NameHasher): boolean
  scoredAtMs(request: number): number
  latencyMs(request: number): number
  /** Number of applicants of the request. */
  applicants(request: number): number
  /** Position of the model that answered. */
  served(request: number): number
  /** Whether cells are those of the first form of the log. */
  readonly isFirstForm: boolean
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
      models: group.models.map((model, position) => {
        const gradeNames = models.get(model.modelId)?.grades.names ?? []
        return new BlockModel(model, gradeNames, () => block.results(index, position, models))
      }),
      wanted,
      requestOfRow: group.requestOfRow,
      requestId: (request: number) => block.requestId(request),
      recordIndex: (row: number) => row - block.firstRowOf(group.requestOfRow[row] ?? 0),
      reference: (row: number) => blockReference(block, group, row),
      hasReferences: block.hasNames(index),
      hashReference: (row: number, hasher: NameHasher) => {
        const request = group.requestOfRow[row] ?? 0
        return block.hashName(request, row - block.firstRowOf(request), hasher)
      },
      scoredAtMs: (request: number) => block.scoredAtMs(request),
      latencyMs: (request: number) => block.latencyMs(request),
      applicants: (request: number) => block.applicants(request),
      served: (request: number) => block.served(request),
      isFirstForm: false,
    }
  })
}

/** A model of a block; its results are computed on first use. */
class BlockModel implements ScannedModel {
  readonly modelId: string
  readonly role: ScannedModel['role']
  readonly challengerId: string | null
  readonly baselineId: string | null
  readonly gradeNames: readonly string[]
  private readonly model: ModelColumns
  private readonly readResults: () => ResultColumns

  constructor(
    model: ModelColumns,
    gradeNames: readonly string[],
    readResults: () => ResultColumns,
  ) {
    this.modelId = model.modelId
    this.role = model.role
    this.challengerId = model.challengerId
    this.baselineId = model.baselineId
    this.gradeNames = gradeNames
    this.model = model
    this.readResults = readResults
  }

  get scored(): Uint8Array {
    return this.model.scored
  }

  get cells(): readonly ArrayLike<number>[] {
    return this.model.cells
  }

  get scores(): Float64Array {
    return this.readResults().scores
  }

  get pds(): Float64Array {
    return this.readResults().pds
  }

  get grades(): Uint32Array {
    return this.readResults().grades
  }
}

function blockReference(block: OpenBlock, group: BlockGroup, row: number): string | null {
  const request = group.requestOfRow[row] ?? 0
  if (!block.isBatch(request)) return block.reference(request)
  const id = block.recordId(request, row - block.firstRowOf(request))
  return id === null ? null : String(id)
}

/** Indexes of the rows of a group that a query asks for. */
export function wantedRows(block: OpenBlock, group: BlockGroup, query: ScanQuery): Int32Array {
  const { teamId, deploymentId, fromMs, toMs } = query
  const isOther = deploymentId !== null && group.deploymentId !== deploymentId
  if (group.teamId !== teamId || isOther) return new Int32Array()
  const rows = new Int32Array(group.rows)
  const { requestOfRow } = group
  let wanted = 0
  for (let row = 0; row < rows.length; row++) {
    const atMs = block.scoredAtMs(requestOfRow[row] ?? 0)
    if (atMs >= fromMs && atMs < toMs) rows[wanted++] = row
  }
  return rows.subarray(0, wanted)
}

/** The columns of requests: one part for each set of models. */
export function columnsOfRequests(requests: readonly LoggedRequest[]): ScannedColumns[] {
  const parts = new Map<string, LoggedRequest[]>()
  for (const request of requests) {
    if (request.rows.length === 0) continue
    const name = `${request.engineVersion === null} ${request.models.map(nameOf).join()}`
    const part = parts.get(name)
    if (part === undefined) parts.set(name, [request])
    else part.push(request)
  }
  return [...parts.values()].map(columnsOfPart)
}

const nameOf = ({ modelId, challengerId, baselineId }: LoggedModel) =>
  `${modelId} ${challengerId} ${baselineId}`

function columnsOfPart(requests: readonly LoggedRequest[]): ScannedColumns {
  const rows = requests.flatMap((request, index) =>
    request.rows.map((row, recordIndex) => ({ row, index, recordIndex })),
  )
  const [first] = requests
  const models = (first?.models ?? []).map((model, position) => {
    const { modelId, role, challengerId, baselineId } = model
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
    const features = rows.find(({ row }) => row.results[position] != null)
    const cells = (features?.row.results[position]?.cells ?? []).map((_, feature) =>
      Int16Array.from(rows, ({ row }) => row.results[position]?.cells[feature] ?? 0),
    )
    const gradeNames = [...gradeIndexes.keys()]
    return { modelId, role, challengerId, baselineId, ...columns, gradeNames, cells }
  })
  const reference = (row: number) => {
    const { isBatch, reference: ofRequest } = at(rows[row]?.index ?? 0)
    const id = rows[row]?.row.id ?? null
    if (!isBatch) return ofRequest
    return id === null ? null : String(id)
  }
  const at = (request: number): LoggedRequest => {
    const found = requests[request]
    if (found === undefined) throw new RangeError('there is no such request')
    return found
  }
  return {
    models,
    wanted: Int32Array.from(rows.keys()),
    requestOfRow: Int32Array.from(rows, ({ index }) => index),
    requestId: (request) => at(request).requestId,
    recordIndex: (row) => rows[row]?.recordIndex ?? 0,
    reference,
    hasReferences: rows.some((_, row) => reference(row) !== null),
    hashReference: (row, hasher) => {
      const found = reference(row)
      if (found !== null) hasher.ofText(found)
      return found !== null
    },
    scoredAtMs: (request) => at(request).scoredAtMs,
    latencyMs: (request) => at(request).latencyMs,
    applicants: (request) => at(request).rows.length,
    served: (request) => at(request).served,
    isFirstForm: first?.engineVersion === null,
  }
}
