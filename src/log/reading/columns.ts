import type { OpenBlock } from '../blocks/block-decoder.ts'
import type { NameHasher, ResultColumns } from '../blocks/columns.ts'
import type { BlockGroup } from '../blocks/group-decoder.ts'
import type { ModelColumns } from '../blocks/model-decoder.ts'
import type { ModelsById } from '../record/model-source.ts'
import type { ScanQuery } from './log-query.ts'

/** The results of one model, with one item for each applicant. */
export interface ScannedModel {
  readonly modelId: string
  readonly role: 'champion' | 'challenger'
  readonly challengerId: string | null
  /** The baseline of reasons in force then; null for none. */
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
  /** True if an applicant can have a reference. */
  readonly hasReferences: boolean
  /** Hands over the reference without making a string of it. @returns false without one */
  hashReference(row: number, hasher: NameHasher): boolean
  scoredAtMs(request: number): number
  latencyMs(request: number): number
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
      models: group.models.map((model, position) => {
        const gradeNames = models.get(model.modelId)?.grades.names ?? []
        return new BlockModel(model, gradeNames, () => block.results(index, position, models))
      }),
      wanted,
      requestOfRow: group.requestOfRow,
      requestId: (request: number) => block.requestId(request),
      recordIndex: (row: number) => row - block.findFirstRow(group.requestOfRow[row] ?? 0),
      reference: (row: number) => blockReference(block, group, row),
      hasReferences: block.hasNames(index),
      hashReference: (row: number, hasher: NameHasher) => {
        const request = group.requestOfRow[row] ?? 0
        return block.hashName(request, row - block.findFirstRow(request), hasher)
      },
      scoredAtMs: (request: number) => block.scoredAtMs(request),
      latencyMs: (request: number) => block.latencyMs(request),
      applicants: (request: number) => block.applicants(request),
      served: (request: number) => block.served(request),
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
  const id = block.recordId(request, row - block.findFirstRow(request))
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

/** In which order of time the log is read. */
export type TimeOrder = 'oldest' | 'newest'

/**
 * The columns of a block of the log. Blocks come by hours of UTC, and within an hour by
 * `firstAtMs`, or by `lastAtMs` from the newest on: what has not come yet holds no scoring of this
 * or a passed hour before that `firstAtMs`, or after that `lastAtMs`.
 */
export interface TimedColumns {
  /** Start of the hour of UTC that holds all its scorings. */
  readonly hourMs: number
  /** When its oldest and its newest scoring were made, to a millisecond. */
  readonly firstAtMs: number
  readonly lastAtMs: number
  /** Decides the order of the log among blocks of the same `firstAtMs`. */
  readonly blockId: number
  /** Bytes of all its columns. */
  readonly bytes: number
  readonly parts: readonly ScannedColumns[]
}
