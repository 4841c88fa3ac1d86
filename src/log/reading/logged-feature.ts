import type { FEATURE_OUTCOMES } from '../../../schemas/scores.ts'
import {
  type CellModel,
  type CompiledModel,
  findCellBin,
  findCellPoints,
  readCellOutcome,
  type ScorecardSpec,
} from '../../engine/index.ts'

export type FeatureOutcome = (typeof FEATURE_OUTCOMES)[number]

/** A logged cell in words. */
interface LoggedFeature {
  readonly points: number
  /** Index in the spec of the bin that gave the points; null for none. */
  readonly bin: number | null
  readonly outcome: FeatureOutcome
}

export interface Card {
  readonly spec: ScorecardSpec
  readonly model: CompiledModel
}

/**
 * Reads the cell of a feature.
 *
 * @param feature index in the spec
 * @throws EngineError for a cell that the feature can't have
 */
export function loggedFeature(model: CellModel, feature: number, cell: number): LoggedFeature {
  return {
    points: findCellPoints(model, feature, cell),
    bin: findCellBin(model, feature, cell),
    outcome: readCellOutcome(cell),
  }
}
