import { CELL_FIRST_BIN, CELL_MISSING, CELL_NO_BIN, CELL_UNSEEN_CATEGORY } from '../engine/index.ts'
import { type Card, missingBinOf } from './logged-feature.ts'

/**
 * A cell that gives the points of a cell of the first form of the log, which has only the bin that
 * gave them. The true outcome can be another one with the same points.
 *
 * @param feature index in the spec
 */
export function cellOfFirstForm({ spec }: Card, feature: number, cell: number): number {
  const featureSpec = spec.features[feature]
  if (cell < CELL_FIRST_BIN) {
    return featureSpec?.type === 'numeric' ? CELL_NO_BIN : CELL_UNSEEN_CATEGORY
  }
  const isMissing = featureSpec !== undefined && cell - CELL_FIRST_BIN === missingBinOf(featureSpec)
  return isMissing ? CELL_MISSING : cell
}
