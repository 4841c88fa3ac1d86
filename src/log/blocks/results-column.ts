import { crc32 } from 'node:zlib'
import { type CellModel, EngineError, scoreCells, scoreColumns } from '../../engine/index.ts'
import type { Steps } from '../../platform/steps.ts'
import { NO_GRADE } from '../record/record-v4.ts'
import type { ByteReader, ByteWriter } from './bytes.ts'
import { laterPlanes, type ResultColumns, readPlanes, writePlanes } from './columns.ts'

const STORED = 0
const DERIVED = 1
const F64_BYTES = 8
const U32_BYTES = 4
/** Results that a step computes again. */
const RESULTS_A_STEP = 64

/** The cells of each result. */
interface CellShape {
  readonly features: number
  readonly bytesPerCell: 1 | 2
}

/** Score, probability and grade of one result. */
interface Result {
  readonly score: number
  readonly pd: number
  readonly grade: number
}

/**
 * The scores, probabilities and grades of a model. What follows from the model and the cells is not
 * stored: each result is computed again when they are written, and stored where one bit differs. A
 * checksum over all of them lets the reader prove that it restored them.
 */
export class ResultsColumn {
  private readonly model: CellModel | null
  readonly scores: number[] = []
  private readonly pds: number[] = []
  private readonly grades: number[] = []

  /** @param model null if it is unknown: then all results are stored */
  constructor(model: CellModel | null) {
    this.model = model
  }

  add(score: number, pd: number, grade: number): void {
    this.scores.push(score)
    this.pds.push(pd)
    this.grades.push(grade)
  }

  /** @param cells of the results, one after the other */
  *write(out: ByteWriter, cells: Buffer, shape: CellShape): Steps<void> {
    const { scores, pds, grades, model } = this
    if (model === null) {
      out.u8(STORED)
      for (const score of scores) out.f64(score)
      for (const pd of pds) out.f64(pd)
      writePlanes(out, grades)
      return
    }
    const exceptions = yield* this.findExceptions(model, cells, shape)
    out.u8(DERIVED)
    out.u32(this.checksum())
    out.varint(exceptions.length)
    for (const index of exceptions) {
      out.varint(index)
      out.f64(scores[index] ?? 0)
      out.f64(pds[index] ?? 0)
      out.u32(grades[index] ?? 0)
    }
  }

  /**
   * As `computeChecksum`. One piece of memory for the columns of many short ones takes half the time.
   */
  private checksum(): number {
    const { scores, pds, grades } = this
    const count = scores.length
    const memory = new ArrayBuffer(count * (2 * F64_BYTES + U32_BYTES))
    const doubles = new Float64Array(memory, 0, 2 * count)
    const numbers = new Uint32Array(memory, 2 * count * F64_BYTES)
    for (let index = 0; index < count; index++) {
      doubles[index] = scores[index] ?? 0
      doubles[count + index] = pds[index] ?? 0
      numbers[index] = grades[index] ?? 0
    }
    return crc32(new Uint8Array(memory))
  }

  /** Only here, because the tables of a model are then read once for all of its results. */
  private *findExceptions(model: CellModel, cells: Buffer, shape: CellShape): Steps<number[]> {
    const { scores, pds, grades } = this
    const { features, bytesPerCell } = shape
    const exceptions: number[] = []
    const ofRow = bytesPerCell === 1 ? new Uint8Array(features) : new Uint16Array(features)
    let at = 0
    for (let index = 0; index < scores.length; index++) {
      if (index % RESULTS_A_STEP === 0) yield
      for (let feature = 0; feature < features; feature++, at += bytesPerCell) {
        ofRow[feature] = bytesPerCell === 1 ? (cells[at] ?? 0) : cells.readUInt16LE(at)
      }
      const derived = computeResult(model, ofRow)
      const isDerived =
        derived !== null &&
        Object.is(derived.score, scores[index]) &&
        Object.is(derived.pd, pds[index]) &&
        derived.grade === grades[index]
      if (!isDerived) exceptions.push(index)
    }
    return exceptions
  }
}

/**
 * @param cells of the scored rows, a column for each feature
 * @throws Error if the model is needed and unknown, or gives other results than were logged
 */
export function readResults(
  from: ByteReader,
  count: number,
  model: CellModel | null,
  cells: readonly ArrayLike<number>[],
): ResultColumns {
  const results = {
    scores: new Float64Array(count),
    pds: new Float64Array(count),
    grades: new Uint32Array(count),
  }
  const { scores, pds, grades } = results
  if (from.u8() === STORED) {
    for (let index = 0; index < count; index++) scores[index] = from.f64()
    for (let index = 0; index < count; index++) pds[index] = from.f64()
    grades.set(readPlanes(from, count))
    return results
  }
  if (model === null) throw new Error('the model of a logged score is not in the database')
  const checksum = from.u32()
  scoreColumns(model, cells, results)
  for (let rest = from.varint(); rest > 0; rest--) {
    const index = from.varint()
    scores[index] = from.f64()
    pds[index] = from.f64()
    grades[index] = from.u32()
  }
  if (computeChecksum(scores, pds, grades) !== checksum) {
    throw new Error('the logged scores do not follow from their model')
  }
  return results
}

export function skipResults(from: ByteReader, count: number): void {
  if (from.u8() === STORED) {
    from.skip(2 * F64_BYTES * count)
    laterPlanes(from, count)
    return
  }
  from.u32()
  for (let rest = from.varint(); rest > 0; rest--) {
    from.varint()
    from.skip(2 * F64_BYTES + 4)
  }
}

/** @returns null for cells that the model lacks */
function computeResult(model: CellModel, cells: ArrayLike<number>): Result | null {
  try {
    const { score, pd, gradeIndex } = scoreCells(model, cells)
    return { score, pd, grade: gradeIndex < 0 ? NO_GRADE : gradeIndex }
  } catch (error) {
    if (error instanceof EngineError) return null
    throw error
  }
}

function computeChecksum(scores: Float64Array, pds: Float64Array, grades: Uint32Array): number {
  return [scores, pds, grades].reduce((sum, column) => crc32(toBytes(column), sum), 0)
}

function toBytes({ buffer, byteOffset, byteLength }: Float64Array | Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
