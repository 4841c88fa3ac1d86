import type { FEATURE_OUTCOMES } from '../../schemas/scores.ts'
import {
  binOfCell,
  CELL_FIRST_BIN,
  CELL_MISSING,
  CELL_NO_BIN,
  type CompiledModel,
  type FeatureSpec,
  MISSING,
  outcomeOfCell,
  pointsOfCell,
  type ScorecardSpec,
  slotsOfCells,
} from '../engine/index.ts'

export type FeatureOutcome = (typeof FEATURE_OUTCOMES)[number]

/** What a logged cell says of a feature. */
export interface LoggedFeature {
  readonly points: number
  /** Index in the spec of the bin that gave the points; null for none. */
  readonly bin: number | null
  /** Null where the first form of the log does not tell. */
  readonly outcome: FeatureOutcome | null
}

export interface Card {
  readonly spec: ScorecardSpec
  readonly model: CompiledModel
}

const NOTHING: LoggedFeature = { points: 0, bin: null, outcome: null }

/**
 * Reads the cell of a feature.
 *
 * @param feature index in the spec
 * @param isFirstForm whether the cell is that of a record of the first form, see `LoggedResult`
 * @throws EngineError for a cell that the feature can't have
 */
export function loggedFeature(
  { spec, model }: Card,
  feature: number,
  cell: number,
  isFirstForm: boolean,
): LoggedFeature {
  if (isFirstForm) return ofFirstForm(spec.features[feature], cell)
  return {
    points: pointsOfCell(model, feature, cell),
    bin: binOfCell(model, feature, cell),
    outcome: outcomeOfCell(cell),
  }
}

/**
 * The first form has the bin that gave the points. A number that matches no bin takes none, and an
 * unseen category takes the Missing bin's, as a missing value does.
 */
function ofFirstForm(feature: FeatureSpec | undefined, cell: number): LoggedFeature {
  const bin = cell - CELL_FIRST_BIN
  if (feature === undefined || bin < 0) return NOTHING
  const points = feature.bins[bin]?.points ?? 0
  if (bin !== missingBinOf(feature)) return { points, bin, outcome: 'matched' }
  return { points, bin, outcome: feature.type === 'numeric' ? 'missing' : null }
}

/** Index of the Missing bin; -1 for a feature without one. */
export function missingBinOf(feature: FeatureSpec): number {
  return feature.type === 'numeric'
    ? feature.bins.findIndex(({ range }) => range.trim() === MISSING)
    : feature.bins.findIndex(({ value }) => value === MISSING)
}

/**
 * The slots of an applicant's cells.
 *
 * @param isFirstForm whether the cells are those of a record of the first form: a value that gave
 *   no points is then a missing one where the feature has no Missing bin
 * @throws EngineError for a cell that the feature can't have
 */
export function loggedSlots(
  { spec, model }: Card,
  cells: readonly number[],
  isFirstForm: boolean,
): Int32Array {
  if (!isFirstForm) return slotsOfCells(model, cells)
  const known = cells.map((cell, index) => {
    const feature = spec.features[index]
    if (feature === undefined) return CELL_MISSING
    const missing = missingBinOf(feature)
    if (cell - CELL_FIRST_BIN === missing) return CELL_MISSING
    if (cell >= CELL_FIRST_BIN) return cell
    return missing < 0 ? CELL_MISSING : CELL_NO_BIN
  })
  return slotsOfCells(model, known)
}
