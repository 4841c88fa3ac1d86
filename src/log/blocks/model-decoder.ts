import { type LoggedResult, loggedResult } from '../record/logged-request.ts'
import type { ModelsById } from '../record/model-source.ts'
import { findCells, NO_GRADE, type RecordModel, SCORED } from '../record/record-v4.ts'
import { ByteReader } from './bytes.ts'
import { laterPlanes, onFirstUse, type ResultColumns, readBytes } from './columns.ts'
import { readResults, skipResults } from './results-column.ts'

type CellColumn = Uint8Array | Uint16Array

/**
 * The columns of a model of a group: one item for each row (applicant). A block stores those of
 * cells, warnings and results for the scored rows alone; readers get an item for each row. Each
 * column is made on first use.
 */
export class ModelColumns {
  /** 1 where the model gave a result, 0 where it failed. */
  readonly scored: Uint8Array
  private readonly record: RecordModel
  /** Index among the scored rows of each row; null where each row is scored. */
  private readonly places: Int32Array | null
  private readonly scoredCount: number
  private readonly storedWarnings: () => Uint32Array
  /** Bytes of the cells: for each feature the low bytes, then the high ones, if there are any. */
  private readonly planes: readonly Uint8Array[]
  private readonly bytes: Buffer
  private readonly resultsAt: number
  private readonly warningsByRow: () => Uint16Array
  private readonly cellsByRow: () => readonly CellColumn[]
  private found: ResultColumns | null = null

  constructor(record: RecordModel, rows: number, from: ByteReader) {
    this.record = record
    this.scored = readBytes(from, rows)
    this.scoredCount = countFound(this.scored)
    this.places = this.scoredCount === rows ? null : listPlaces(this.scored)
    this.storedWarnings = laterPlanes(from, this.scoredCount)
    const planes: Uint8Array[] = []
    for (let plane = 0; plane < record.features * record.bytesPerCell; plane++) {
      planes.push(readBytes(from, this.scoredCount))
    }
    this.planes = planes
    this.bytes = from.bytes
    this.resultsAt = from.position
    skipResults(from, this.scoredCount)
    this.warningsByRow = onFirstUse(() =>
      this.byRow(this.storedWarnings(), new Uint16Array(this.scored.length)),
    )
    this.cellsByRow = onFirstUse(() => {
      const stored = this.storedCells()
      if (this.places === null) return stored
      return stored.map((column) => this.byRow(column, emptyCells(record, this.scored.length)))
    })
  }

  get modelId(): string {
    return this.record.modelId
  }

  get role(): 'champion' | 'challenger' {
    return this.record.challengerId === null ? 'champion' : 'challenger'
  }

  get challengerId(): string | null {
    return this.record.challengerId
  }

  get specSha256(): string | null {
    return this.record.specSha256
  }

  get baselineId(): string | null {
    return this.record.baselineId
  }

  get warningCounts(): Uint16Array {
    return this.warningsByRow()
  }

  /** Cell codes, an array for each feature in spec order; 0 where the model failed. */
  get cells(): readonly CellColumn[] {
    return this.cellsByRow()
  }

  /** @throws Error if the model is not in `models` and the results are not stored */
  results(models: ModelsById): ResultColumns {
    if (this.found !== null) return this.found
    const model = models.get(this.modelId) ?? null
    const from = new ByteReader(this.bytes, this.resultsAt)
    const { scores, pds, grades } = readResults(
      from,
      this.scoredCount,
      model,
      // Stored results need no cells.
      model === null ? [] : this.storedCells(),
    )
    const rows = this.scored.length
    this.found =
      this.places === null
        ? { scores, pds, grades }
        : {
            scores: this.byRow(scores, new Float64Array(rows).fill(Number.NaN)),
            pds: this.byRow(pds, new Float64Array(rows).fill(Number.NaN)),
            grades: this.byRow(grades, new Uint32Array(rows).fill(NO_GRADE)),
          }
    return this.found
  }

  /**
   * The result of one row; null if the model failed.
   *
   * @throws Error as `results`
   */
  resultAt(row: number, models: ModelsById): LoggedResult | null {
    if (this.scored[row] !== SCORED) return null
    const { scores, pds, grades } = this.results(models)
    const grade = grades[row] ?? NO_GRADE
    const result = {
      score: scores[row] ?? 0,
      pd: pds[row] ?? Number.NaN,
      grade: grade === NO_GRADE ? null : grade,
      warningCount: this.warningCounts[row] ?? 0,
    }
    return loggedResult(result, models.get(this.modelId), () => this.cellsAt(row))
  }

  private cellsAt(row: number): number[] {
    const { features, bytesPerCell } = this.record
    const bytes = Buffer.allocUnsafe(features * bytesPerCell)
    this.copyCells(row, bytes)
    return findCells(bytes, bytesPerCell)
  }

  /** Copies the cells of a scored row as a record has them. */
  copyCells(row: number, target: Buffer): void {
    const index = this.places === null ? row : (this.places[row] ?? 0)
    let at = 0
    for (const plane of this.planes) target[at++] = plane[index] ?? 0
  }

  /** The cells of the scored rows. */
  private storedCells(): readonly CellColumn[] {
    const { planes, record, scoredCount } = this
    if (record.bytesPerCell === 1) return planes
    return Array.from({ length: record.features }, (_, feature) => {
      const [low, high] = [planes[2 * feature], planes[2 * feature + 1]]
      const column = new Uint16Array(scoredCount)
      for (let index = 0; index < scoredCount; index++) {
        column[index] = (low?.[index] ?? 0) + 256 * (high?.[index] ?? 0)
      }
      return column
    })
  }

  /** Spreads values of the scored rows over all rows. */
  private byRow<Column extends Spread>(stored: ArrayLike<number>, column: Column): Column {
    const { scored, places } = this
    for (let row = 0; row < scored.length; row++) {
      if (scored[row] === SCORED)
        column[row] = stored[places === null ? row : (places[row] ?? 0)] ?? 0
    }
    return column
  }
}

type Spread = Uint8Array | Uint16Array | Uint32Array | Float64Array

function emptyCells({ bytesPerCell }: RecordModel, rows: number): CellColumn {
  return bytesPerCell === 1 ? new Uint8Array(rows) : new Uint16Array(rows)
}

function countFound(status: Uint8Array): number {
  let scored = 0
  for (let row = 0; row < status.length; row++) if (status[row] === SCORED) scored++
  return scored
}

function listPlaces(status: Uint8Array): Int32Array {
  const places = new Int32Array(status.length)
  let scored = 0
  for (let row = 0; row < status.length; row++) {
    places[row] = scored
    if (status[row] === SCORED) scored++
  }
  return places
}
