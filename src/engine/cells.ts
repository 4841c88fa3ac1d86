import {
  type CompiledFeature,
  type CompiledModel,
  SLOT_FIRST_BIN,
  SLOT_MISSING,
} from './compile.ts'
import { EngineError } from './issues.ts'
import { findGradeIndex, probabilityOfDefault } from './scaling.ts'
import { isUnmatched, type Outcome, readOutcomeAtOffset } from './score.ts'

/**
 * A *cell* is the outcome of one feature as the score log holds it. It follows from the spec alone,
 * not from the layout of the compiled model: 0 an unseen category, 1 a number in no bin, 2 a text
 * that is not a number, 3 a missing value, 4 + i a value in bin i of the spec. The Missing bin has
 * no cell of its own: its text, sent as a category, has the cell of a missing value.
 */
export const CELL_UNSEEN_CATEGORY = 0
export const CELL_NO_BIN = 1
export const CELL_NOT_A_NUMBER = 2
export const CELL_MISSING = SLOT_MISSING
export const CELL_FIRST_BIN = SLOT_FIRST_BIN

/** The part of a model that turns cells into a result, without what scoring a value needs. */
export interface CellModel
  extends Pick<
    CompiledModel,
    'basePoints' | 'slotStart' | 'points' | 'binOfSlot' | 'cellOfSlot' | 'grades' | 'scale'
  > {
  readonly features: readonly Pick<CompiledFeature, 'index' | 'isNumeric'>[]
}

/** The slots of the cells that scoring can give, by feature. */
interface CellTable {
  /** First place of each feature. */
  readonly starts: Int32Array
  /** Slot of each cell; -1 for a cell that no value has. */
  readonly slots: Int32Array
}

/** Made when cells are first read: a process that only scores needs none. */
const tables = new WeakMap<CellModel, CellTable>()

/** A copy that keeps nothing else of the model in memory. */
export function toCellModel(model: CompiledModel): CellModel {
  const { basePoints, slotStart, points, binOfSlot, cellOfSlot, grades, scale } = model
  const features = model.features.map(({ index, isNumeric }) => ({ index, isNumeric }))
  return { basePoints, slotStart, points, binOfSlot, cellOfSlot, grades, scale, features }
}

/** Estimated memory of such a copy, rather too high than too low. */
export function estimateCellModelBytes({ points, grades, features }: CellModel): number {
  const namesBytes = grades.names.reduce((sum, name) => sum + 40 + 2 * name.length, 0)
  return 1_000 + 24 * points.length + 60 * features.length + 16 * grades.names.length + namesBytes
}

/** @param cell 0 or more */
export function readCellOutcome(cell: number): Exclude<Outcome, 'invalid'> {
  return readOutcomeAtOffset(cell) as Exclude<Outcome, 'invalid'>
}

/**
 * Index in the spec of the bin that gave the points, or null: the Missing bin for a missing value
 * and for an unseen category, where there is one.
 *
 * @throws EngineError `cell_invalid`
 */
export function findCellBin(model: CellModel, feature: number, cell: number): number | null {
  const bin = model.binOfSlot[findCellSlot(model, feature, cell)]!
  return bin === -1 ? null : bin
}

/**
 * Points of a feature.
 *
 * @throws EngineError `cell_invalid`
 */
export function findCellPoints(model: CellModel, feature: number, cell: number): number {
  return model.points[findCellSlot(model, feature, cell)]!
}

/** Result that follows from the cells of an applicant. */
export interface CellScore {
  readonly score: number
  /** NaN when the model has no scale. */
  readonly pd: number
  readonly grade: string | null
  /** Index in the names of the model's grades; -1 for none. */
  readonly gradeIndex: number
}

/**
 * The result that `scoreApplicant` gave with these cells, to the bit.
 *
 * @param cells one for each feature, in spec order
 * @throws EngineError `cell_invalid`
 */
export function scoreCells(model: CellModel, cells: ArrayLike<number>): CellScore {
  const { starts, slots } = findTable(model)
  const features = starts.length - 1
  if (cells.length !== features) throw invalidCell('the cells are not those of the model')
  let score = model.basePoints
  for (let feature = 0; feature < features; feature++) {
    const cell = cells[feature]!
    const place = starts[feature]! + cell
    const slot = cell >= 0 && place < starts[feature + 1]! ? slots[place] : undefined
    if (slot === undefined || slot < 0) throw invalidCell(NOT_OF_FEATURE)
    score += model.points[slot]!
  }
  const { scale, grades } = model
  const gradeIndex = findGradeIndex(grades, score)
  return {
    score,
    pd: scale === null ? Number.NaN : probabilityOfDefault(scale, score),
    grade: grades.names[gradeIndex] ?? null,
    gradeIndex,
  }
}

/** The results of many applicants, an item for each. */
export interface ScoreColumns {
  readonly scores: Float64Array
  /** NaN when the model has no scale. */
  readonly pds: Float64Array
  /** Index in the names of the model's grades; 0xffffffff for none. */
  readonly grades: Uint32Array
}

/**
 * As `scoreCells` for many applicants, to the bit: one feature after the other, without an
 * object for each applicant.
 *
 * @param cells a column for each feature, in spec order
 * @param into receives the results; all of an applicant's are 0 where the model lacks a cell
 */
export function scoreColumns(
  model: CellModel,
  cells: readonly ArrayLike<number>[],
  into: ScoreColumns,
): void {
  const { scores, pds, grades } = into
  const { starts, slots } = findTable(model)
  const features = starts.length - 1
  scores.fill(0)
  pds.fill(0)
  grades.fill(0)
  if (cells.length !== features) return
  scores.fill(model.basePoints)
  const lacks = new Uint8Array(scores.length)
  for (let feature = 0; feature < features; feature++) {
    const ofFeature = slots.subarray(starts[feature]!, starts[feature + 1]!)
    addPoints(model.points, ofFeature, cells[feature]!, { scores, lacks })
  }
  const { scale } = model
  for (let index = 0; index < scores.length; index++) {
    if (lacks[index] === 1) {
      scores[index] = 0
      continue
    }
    const score = scores[index]!
    pds[index] = scale === null ? Number.NaN : probabilityOfDefault(scale, score)
    // -1 becomes the index for none.
    grades[index] = findGradeIndex(model.grades, score)
  }
}

interface PointSums {
  readonly scores: Float64Array
  /** 1 where the model lacks a cell. */
  readonly lacks: Uint8Array
}

function addPoints(
  points: ArrayLike<number>,
  slots: Int32Array,
  cells: ArrayLike<number>,
  { scores, lacks }: PointSums,
): void {
  const size = slots.length
  for (let index = 0; index < scores.length; index++) {
    const cell = cells[index]!
    const slot = cell < size ? slots[cell]! : -1
    if (slot < 0) lacks[index] = 1
    else scores[index]! += points[slot]!
  }
}

/**
 * Returns the slots of an applicant's cells: those that `scoreApplicant` found, or others with the
 * same meaning.
 *
 * @throws EngineError `cell_invalid`
 */
export function findCellSlots(model: CompiledModel, cells: ArrayLike<number>): Int32Array {
  if (cells.length !== model.features.length) {
    throw invalidCell('the cells are not those of the model')
  }
  return Int32Array.from(cells, (cell, feature) => findCellSlot(model, feature, cell))
}

function findCellSlot(model: CellModel, feature: number, cell: number): number {
  const { starts, slots } = findTable(model)
  const place = (starts[feature] ?? Number.NaN) + cell
  const slot = cell >= 0 && place < (starts[feature + 1] ?? 0) ? slots[place] : undefined
  if (slot === undefined || slot < 0) throw invalidCell(NOT_OF_FEATURE)
  return slot
}

function findTable(model: CellModel): CellTable {
  let table = tables.get(model)
  if (table === undefined) {
    table = makeTable(model)
    tables.set(model, table)
  }
  return table
}

function makeTable(model: CellModel): CellTable {
  const { slotStart, cellOfSlot, features } = model
  const starts = [0]
  const slots: number[] = []
  for (const { index, isNumeric } of features) {
    const first = slotStart[index]!
    const end = slotStart[index + 1]!
    // Backwards: the slot of a missing value comes before that of the Missing bin, and stays.
    for (let slot = end - 1; slot >= first; slot--) {
      const cell = cellOfSlot[slot]!
      const place = starts[index]! + cell
      while (slots.length <= place) slots.push(-1)
      if (isPossible(isNumeric, readCellOutcome(cell))) slots[place] = slot
    }
    starts.push(slots.length)
  }
  return { starts: Int32Array.from(starts), slots: Int32Array.from(slots) }
}

/** Only a category can be unseen; only a numeric feature has the two others. */
function isPossible(isNumeric: boolean, outcome: Outcome): boolean {
  return !isUnmatched(outcome) || isNumeric === (outcome !== 'unseen_category')
}

const NOT_OF_FEATURE = 'a cell is not one of its feature'

function invalidCell(message: string): EngineError {
  return new EngineError('cell_invalid', message)
}
