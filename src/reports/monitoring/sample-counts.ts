import type { BaselineCounts } from '../../../schemas/baselines.ts'
import { type Applicant, ModelScore, scoreApplicant } from '../../engine/index.ts'
import { ExactSum } from '../../platform/exact-sum.ts'
import { ValueDistribution } from '../stats/value-distribution.ts'
import { countsOfCells } from './baseline.ts'
import { type Card, cellLayout } from './cell-layout.ts'
import { bandsOver } from './score-edges.ts'

/** A development sample, counted applicant by applicant. */
export interface CountedSample {
  readonly n: number
  /** Null without applicants. */
  readonly meanScore: number | null
  readonly counts: BaselineCounts
}

/**
 * Scores the applicants of a development sample, and counts them; see `countScored`.
 *
 * @param applicants whose values are numbers, texts or null
 */
export function countSample(card: Card, applicants: Iterable<Applicant>): CountedSample {
  const modelScore = new ModelScore(card.model)
  const rowsOfSlots = new Float64Array(card.model.points.length)
  const scores: number[] = []
  for (const applicant of applicants) {
    scoreApplicant(applicant, modelScore)
    scores.push(modelScore.score)
    for (const slot of modelScore.slots) rowsOfSlots[slot] = (rowsOfSlots[slot] ?? 0) + 1
  }
  return countScored(card, { rowsOfSlots, scores })
}

/** Applicants of a sample as the engine scored them. */
export interface ScoredSample {
  /** Applicants of each slot of the compiled model. */
  readonly rowsOfSlots: Float64Array
  readonly scores: readonly number[]
}

/**
 * Counts the applicants of a development sample by bin and by score band. The bands hold about as
 * many applicants each. No count is unknown.
 *
 * @throws Error for a value of an impossible type, which no reader of samples gives
 */
export function countScored(card: Card, { rowsOfSlots, scores }: ScoredSample): CountedSample {
  const { slotStart, cellOfSlot } = card.model
  const features = cellLayout(card).map((layout, feature) => {
    const counts = new Float64Array(layout.cells.length)
    for (let slot = slotStart[feature] ?? 0; slot < (slotStart[feature + 1] ?? 0); slot++) {
      const rows = rowsOfSlots[slot] ?? 0
      if (rows === 0) continue
      const place = layout.placeOf[cellOfSlot[slot] ?? -1] ?? -1
      if (place < 0) throw new Error(`an applicant has an impossible value for ${layout.name}`)
      counts[place] = (counts[place] ?? 0) + rows
    }
    return [layout.name, countsOfCells(layout, counts)]
  })
  const distribution = new ValueDistribution()
  const sum = new ExactSum()
  for (const score of scores) {
    distribution.add(score)
    sum.add(score)
  }
  const bands = bandsOver(distribution).map((band) => ({ ...band }))
  for (const score of scores) {
    const band = bands.find(({ max }) => max === null || score < max)
    if (band !== undefined) band.n++
  }
  const n = scores.length
  return {
    n,
    meanScore: n === 0 ? null : sum.meanOver(n),
    counts: { features: Object.fromEntries(features), score_bands: bands },
  }
}
