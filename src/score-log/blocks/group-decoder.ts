import type { ModelsById } from '../record/model-source.ts'
import {
  ID_NULL,
  ID_NUMBER,
  NO_GRADE,
  type RecordHead,
  type RecordModel,
  SCORED,
} from '../record/record-v4.ts'
import type { BlockGroup, ModelColumns, ResultColumns } from './block.ts'
import { ByteReader } from './bytes.ts'
import { readBytes, readDeltas, readPlanes } from './columns.ts'
import { readResults, skipResults } from './results-column.ts'

/**
 * The columns of a model; those of cells, warnings and results have an item for each scored row.
 */
interface StoredModel {
  readonly record: RecordModel
  readonly status: Uint8Array
  /** Index among the scored rows of each row. */
  readonly place: Int32Array
  readonly scored: number
  readonly warnings: Uint32Array
  /** Bytes of the cells: for each feature the low bytes, then the high ones, if there are any. */
  readonly planes: readonly Uint8Array[]
  readonly resultsAt: number
}

/** Reads the rows of all requests with the same head. */
export class GroupDecoder implements BlockGroup {
  readonly head: RecordHead
  readonly headBytes: Buffer
  readonly requestOfRow: Int32Array
  readonly idKinds: Uint8Array
  /** The bytes of each record id after its kind, as in a record without their length. */
  private readonly ids: (number | Buffer | null)[] = []
  private readonly stored: readonly StoredModel[]
  private readonly columns: (ModelColumns | undefined)[] = []
  private readonly decoded: (ResultColumns | undefined)[] = []
  private readonly bytes: Buffer

  constructor(head: RecordHead, headBytes: Buffer, requestOfRow: Int32Array, from: ByteReader) {
    this.head = head
    this.headBytes = headBytes
    this.requestOfRow = requestOfRow
    this.bytes = from.bytes
    this.idKinds = readBytes(from, this.rows)
    this.readIds(from)
    this.stored = head.models.map((model) => readModel(model, this.rows, from))
  }

  get engineVersion(): number {
    return this.head.engineVersion
  }

  get teamId(): string {
    return this.head.teamId
  }

  get deploymentId(): string {
    return this.head.deploymentId
  }

  get cacheVersion(): number {
    return this.head.cacheVersion
  }

  get rows(): number {
    return this.requestOfRow.length
  }

  get models(): readonly ModelColumns[] {
    return this.stored.map((model, position) => {
      this.columns[position] ??= columnsOf(model)
      return this.columns[position]
    })
  }

  /** A number, or the bytes of a text; null for none. */
  idOf(row: number): number | Buffer | null {
    return this.ids[row] ?? null
  }

  results(position: number, models: ModelsById): ResultColumns {
    const known = this.decoded[position]
    if (known !== undefined) return known
    const stored = this.stored[position]
    if (stored === undefined) throw new RangeError('the block has no such model')
    const { features } = stored.record
    const cells = new Uint16Array(features)
    const cellsOf = (index: number) => {
      for (let feature = 0; feature < features; feature++) {
        cells[feature] = cellAt(stored, feature, index)
      }
      return cells
    }
    const model = models.get(stored.record.modelId) ?? null
    const from = new ByteReader(this.bytes, stored.resultsAt)
    const results = byRow(stored, readResults(from, stored.scored, model, cellsOf))
    this.decoded[position] = results
    return results
  }

  /** Copies the cells of a row as a record has them. */
  copyCells(position: number, row: number, target: Buffer, start: number): number {
    const stored = this.stored[position]
    if (stored === undefined) return start
    const index = stored.place[row] ?? 0
    let at = start
    for (const plane of stored.planes) target[at++] = plane[index] ?? 0
    return at
  }

  private readIds(from: ByteReader): void {
    const { idKinds } = this
    const numberCount = idKinds.reduce((sum, kind) => sum + (kind === ID_NUMBER ? 1 : 0), 0)
    const numbers = numberCount === 0 ? new Float64Array(0) : readDeltas(from, numberCount)
    let next = 0
    for (const kind of idKinds) {
      if (kind === ID_NULL) this.ids.push(null)
      else if (kind === ID_NUMBER) this.ids.push(numbers[next++] ?? 0)
      else this.ids.push(from.block())
    }
  }
}

function readModel(record: RecordModel, rows: number, from: ByteReader): StoredModel {
  const status = readBytes(from, rows)
  const place = new Int32Array(rows)
  let scored = 0
  for (let row = 0; row < rows; row++) {
    place[row] = scored
    if (status[row] === SCORED) scored++
  }
  const warnings = readPlanes(from, scored)
  const planes: Uint8Array[] = []
  for (let plane = 0; plane < record.features * record.bytesPerCell; plane++) {
    planes.push(readBytes(from, scored))
  }
  const resultsAt = from.position
  skipResults(from, scored)
  return { record, status, place, scored, warnings, planes, resultsAt }
}

function cellAt({ record, planes }: StoredModel, feature: number, index: number): number {
  if (record.bytesPerCell === 1) return planes[feature]?.[index] ?? 0
  return (planes[2 * feature]?.[index] ?? 0) + 256 * (planes[2 * feature + 1]?.[index] ?? 0)
}

/** The columns with an item for each row. */
function columnsOf(stored: StoredModel): ModelColumns {
  const { record, status, place, scored, warnings } = stored
  const rows = status.length
  const warningCounts = new Uint16Array(rows)
  for (let row = 0; row < rows; row++) {
    if (status[row] === SCORED) warningCounts[row] = warnings[place[row] ?? 0] ?? 0
  }
  const isWhole = scored === rows && record.bytesPerCell === 1
  const cells = Array.from({ length: record.features }, (_, feature) => {
    const plane = stored.planes[feature]
    if (isWhole && plane !== undefined) return plane
    const column = record.bytesPerCell === 1 ? new Uint8Array(rows) : new Uint16Array(rows)
    for (let row = 0; row < rows; row++) {
      if (status[row] === SCORED) column[row] = cellAt(stored, feature, place[row] ?? 0)
    }
    return column
  })
  const { modelId, challengerId, specSha256, baselineId } = record
  const role = challengerId === null ? 'champion' : 'challenger'
  return {
    modelId,
    role,
    challengerId,
    specSha256,
    baselineId,
    scored: status,
    warningCounts,
    cells,
  }
}

function byRow({ status, place, scored }: StoredModel, results: ResultColumns): ResultColumns {
  const rows = status.length
  if (scored === rows) return results
  const scores = new Float64Array(rows).fill(Number.NaN)
  const pds = new Float64Array(rows).fill(Number.NaN)
  const grades = new Uint32Array(rows).fill(NO_GRADE)
  for (let row = 0; row < rows; row++) {
    if (status[row] !== SCORED) continue
    const index = place[row] ?? 0
    scores[row] = results.scores[index] ?? 0
    pds[row] = results.pds[index] ?? 0
    grades[row] = results.grades[index] ?? 0
  }
  return { scores, pds, grades }
}
