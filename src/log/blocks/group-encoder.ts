import type { CellModel } from '../../engine/index.ts'
import type { Steps } from '../../platform/steps.ts'
import type { ModelsById } from '../record/model-source.ts'
import type { RecordScanner } from '../record/record-scanner.ts'
import {
  FAILED,
  ID_HEADER_BYTES,
  ID_NULL,
  ID_NUMBER,
  ID_UTF16,
  RESULT_HEADER_BYTES,
  type RecordHead,
  type RecordModel,
  SCORED,
} from '../record/record-v4.ts'
import type { KeyedRollup } from '../rollups/rollup-sums.ts'
import { ByteWriter } from './bytes.ts'
import { writeBytes, writeDeltas, writePlanes } from './columns.ts'
import {
  type CountableGroup,
  type CountableResults,
  HAS_REFERENCE,
  IS_SERVED,
} from './count-results.ts'
import type { ReferenceFilter } from './hashes.ts'
import type { KnownHead } from './known-heads.ts'
import { ResultsColumn } from './results-column.ts'

const F64_BYTES = 8
/** Columns of cells that a step writes. */
const COLUMNS_A_STEP = 64
const PD_AT = 1 + F64_BYTES
const GRADE_AT = PD_AT + F64_BYTES
const WARNINGS_AT = GRADE_AT + 4

/** Columns of the model that answered. */
interface ServedColumns {
  readonly scores: number[]
  readonly pds: number[]
}

/** Collects the rows of all requests with the same head, as columns. */
export class GroupEncoder implements CountableGroup {
  readonly head: RecordHead
  readonly headBytes: Buffer
  /** The sums that its last record was added to. */
  sums: KeyedRollup | null = null
  /** Number of applicants. */
  rows = 0
  private readonly idKinds = new ByteWriter()
  private readonly idNumbers: number[] = []
  private readonly idTexts = new ByteWriter()
  private readonly models: readonly ModelEncoder[]
  /** Columns of the last record. */
  private readonly served: ServedColumns = { scores: [], pds: [] }

  constructor({ head, bytes }: KnownHead, models: ModelsById) {
    this.head = head
    this.headBytes = bytes
    this.models = head.models.map((model) => new ModelEncoder(model, models.get(model.modelId)))
  }

  get teamId(): string {
    return this.head.teamId
  }

  get deploymentId(): string {
    return this.head.deploymentId
  }

  /** See `CountableGroup`. */
  readonly countable = () => this.models.map((model) => model.countable())

  /**
   * Adds the rows of a record.
   *
   * @param filter receives the record ids as references; null: they are none
   * @returns what holds until the next call
   * @throws Error if the rows are not as the head and the facts say
   */
  add(record: RecordScanner, filter: ReferenceFilter | null): ServedColumns {
    const { payload, rows, served: servedBy } = record
    const { served } = this
    served.scores.length = 0
    served.pds.length = 0
    if (servedBy >= this.models.length) throw new Error('the record lacks the model that answered')
    let at = record.rowsAt
    for (let row = 0; row < rows; row++) {
      const idAt = at
      at = this.addId(payload, at)
      const id = filter === null ? null : idText(payload, idAt, at)
      if (id !== null) filter?.add(this.head.teamId, id)
      const hasReference = filter === null ? record.textsEnd > record.referenceAt + 1 : id !== null
      for (let position = 0; position < this.models.length; position++) {
        const start = at
        const mark = (position === servedBy ? IS_SERVED : 0) | (hasReference ? HAS_REFERENCE : 0)
        at = this.models[position]?.add(record, start, mark) ?? start
        if (position !== servedBy) continue
        if (payload[start] === FAILED) throw new Error('the record lacks a result')
        served.scores.push(record.view.getFloat64(record.base + start + 1, true))
        served.pds.push(record.view.getFloat64(record.base + start + PD_AT, true))
      }
    }
    if (at !== payload.length) throw new Error('the record is longer than its contents')
    this.rows += rows
    return served
  }

  *write(out: ByteWriter): Steps<void> {
    writeBytes(out, this.idKinds.written())
    if (this.idNumbers.length > 0) writeDeltas(out, this.idNumbers)
    out.copy(this.idTexts.written(), 0, this.idTexts.length)
    for (const model of this.models) yield* model.write(out)
  }

  private addId(payload: Buffer, at: number): number {
    const kind = payload.readUInt8(at)
    this.idKinds.u8(kind)
    if (kind === ID_NULL) return at + 1
    if (kind === ID_NUMBER) {
      this.idNumbers.push(payload.readDoubleLE(at + 1))
      return at + 1 + F64_BYTES
    }
    if (kind > ID_UTF16) throw new Error('the record has a record id of an unknown kind')
    const bytes = payload.readUInt32LE(at + 1)
    const end = at + ID_HEADER_BYTES + bytes
    if (end > payload.length) throw new Error('the record is cut off')
    this.idTexts.varint(bytes)
    this.idTexts.copy(payload, end - bytes, end)
    return end
  }
}

/** The columns of one model. Cells, warnings and results have an item for each scored row. */
class ModelEncoder {
  private readonly record: RecordModel
  private readonly status = new ByteWriter()
  private readonly warnings: number[] = []
  /** See `CountableResults`. */
  private readonly marks = new ByteWriter()
  /** Row after row. */
  private readonly cells = new ByteWriter()
  private readonly results: ResultsColumn
  private scored = 0

  constructor(record: RecordModel, model: CellModel | undefined) {
    const isKnown = model !== undefined && model.features.length === record.features
    this.record = record
    this.results = new ResultsColumn(isKnown ? model : null)
  }

  /** @returns offset after the result */
  add({ payload, view, base }: RecordScanner, at: number, mark: number): number {
    const status = payload.readUInt8(at)
    if (status !== FAILED && status !== SCORED) {
      throw new Error('the record has a result of an unknown kind')
    }
    this.status.u8(status)
    if (status === FAILED) return at + 1
    const { features, bytesPerCell } = this.record
    const start = at + RESULT_HEADER_BYTES
    const end = start + features * bytesPerCell
    if (end > payload.length) throw new Error('the record is cut off')
    this.results.add(
      view.getFloat64(base + at + 1, true),
      view.getFloat64(base + at + PD_AT, true),
      view.getUint32(base + at + GRADE_AT, true),
    )
    this.warnings.push(view.getUint16(base + at + WARNINGS_AT, true))
    this.cells.copy(payload, start, end)
    this.marks.u8(mark)
    this.scored++
    return end
  }

  countable(): CountableResults {
    const { modelId, features, bytesPerCell } = this.record
    const bytes = this.cells.written()
    const step = features * bytesPerCell
    const readCells = (feature: number) => ({
      bytes,
      at: feature * bytesPerCell,
      step,
      bytesPerCell,
    })
    return {
      modelId,
      features,
      marks: this.marks.written(),
      scores: this.results.scores,
      readCells,
    }
  }

  *write(out: ByteWriter): Steps<void> {
    writeBytes(out, this.status.written())
    writePlanes(out, this.warnings)
    const { features, bytesPerCell } = this.record
    const { scored } = this
    const rows = this.cells.written()
    const width = features * bytesPerCell
    const column = new Uint8Array(scored)
    for (let place = 0; place < width; place++) {
      for (let row = 0, at = place; row < scored; row++, at += width) column[row] = rows[at] ?? 0
      writeBytes(out, column)
      if (place % COLUMNS_A_STEP === 0) yield
    }
    yield* this.results.write(out, rows, this.record)
  }
}

function idText(payload: Buffer, start: number, end: number): string | null {
  const kind = payload[start]
  if (kind === ID_NULL) return null
  if (kind === ID_NUMBER) return String(payload.readDoubleLE(start + 1))
  return payload.toString(kind === ID_UTF16 ? 'utf16le' : 'utf8', start + ID_HEADER_BYTES, end)
}
