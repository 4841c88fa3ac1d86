import type { FEATURE_OUTCOMES } from '../../schemas/scores.ts'
import {
  binOfCell,
  CELL_FIRST_BIN,
  type CompiledModel,
  type FeatureSpec,
  MISSING,
  outcomeOfCell,
  pointsOfCell,
  type ScorecardSpec,
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
