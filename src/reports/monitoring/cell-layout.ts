import type { FEATURE_OUTCOMES } from '../../../schemas/scores.ts'
import {
  CELL_FIRST_BIN,
  CELL_MISSING,
  CELL_NO_BIN,
  CELL_NOT_A_NUMBER,
  CELL_UNSEEN_CATEGORY,
  type CompiledModel,
  type FeatureSpec,
  findCellBin,
  findCellPoints,
  MISSING,
  type ScorecardSpec,
} from '../../engine/index.ts'

export type CellOutcome = (typeof FEATURE_OUTCOMES)[number]

/** A registered card, as readers of the log have it. */
export interface Card {
  readonly spec: ScorecardSpec
  readonly model: CompiledModel
}

/** One possible outcome of a feature. */
export interface Cell {
  readonly outcome: CellOutcome
  /** Index in the spec of the bin that gives the points; null for none. */
  readonly bin: number | null
  readonly points: number
}

/** The cells of a feature: its bins in spec order, then its other outcomes. */
export interface FeatureLayout {
  readonly name: string
  readonly cells: readonly Cell[]
  /** Place in `cells` of each logged cell (`cells.ts` of the engine); -1 for an impossible one. */
  readonly placeOf: Int32Array
  /** Place of the Missing bin; -1 without one. */
  readonly missingBinPlace: number
}

export function cellLayout({ spec, model }: Card): FeatureLayout[] {
  return spec.features.map((feature, index) => featureLayout(feature, index, model))
}

/** Index of a feature's Missing bin; -1 without one. */
function findMissingBin(feature: FeatureSpec): number {
  return feature.type === 'numeric'
    ? feature.bins.findIndex(({ range }) => range.trim() === MISSING)
    : feature.bins.findIndex(({ value }) => value === MISSING)
}

function featureLayout(feature: FeatureSpec, index: number, model: CompiledModel): FeatureLayout {
  const isNumeric = feature.type === 'numeric'
  const missingBin = findMissingBin(feature)
  const codes = feature.bins.map((_, bin) =>
    bin === missingBin ? CELL_MISSING : CELL_FIRST_BIN + bin,
  )
  if (missingBin < 0) codes.push(CELL_MISSING)
  if (isNumeric) codes.push(CELL_NO_BIN, CELL_NOT_A_NUMBER)
  else codes.push(CELL_UNSEEN_CATEGORY)
  const placeOf = new Int32Array(CELL_FIRST_BIN + feature.bins.length).fill(-1)
  for (const [place, code] of codes.entries()) placeOf[code] = place
  return {
    name: feature.name,
    cells: codes.map((code) => ({
      outcome: OUTCOMES[code] ?? 'matched',
      bin: findCellBin(model, index, code),
      points: findCellPoints(model, index, code),
    })),
    placeOf,
    missingBinPlace: missingBin,
  }
}

const OUTCOMES: Readonly<Record<number, CellOutcome>> = {
  [CELL_UNSEEN_CATEGORY]: 'unseen_category',
  [CELL_NO_BIN]: 'no_bin',
  [CELL_NOT_A_NUMBER]: 'not_a_number',
  [CELL_MISSING]: 'missing',
}
