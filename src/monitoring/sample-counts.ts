import type { BaselineCounts } from '../../schemas/baselines.ts'
import { type Applicant, ModelScore, scoreApplicant } from '../engine/index.ts'
import { ValueDistribution } from '../stats/value-distribution.ts'
import { countsOfCells } from './baseline.ts'
import { type Card, cellLayout, type FeatureLayout } from './cell-layout.ts'
import { ExactSum } from './exact-sum.ts'
import { bandsOver } from './score-edges.ts'

/** A development sample, counted applicant by applicant. */
export interface CountedSample {
  readonly n: number
  /** Null without applicants. */
  readonly meanScore: number | null
  readonly counts: BaselineCounts
}

/**
 * Scores the applicants of a development sample, and counts them by bin and by score band. The
 * bands hold about as many applicants each. No count is unknown.
 *
 * @param applicants whose values are numbers, texts or null
 */
export function countSample(card: Card, applicants: Iterable<Applicant>): CountedSample {
  const layouts = cellLayout(card)
  const counts = layouts.map(({ cells }) => new Float64Array(cells.length))
  const modelScore = new ModelScore(card.model)
  const scores: number[] = []
  const distribution = new ValueDistribution()
  const sum = new ExactSum()
  for (const applicant of applicants) {
    scoreApplicant(applicant, modelScore)
    const { score } = modelScore
    scores.push(score)
    distribution.add(score)
    sum.add(score)
    for (const [feature, layout] of layouts.entries()) {
      addCell(counts[feature], placeOf(card, modelScore, feature, layout))
    }
  }
  const features = layouts.map((layout, feature) => [
    layout.name,
    countsOfCells(layout, counts[feature] ?? []),
  ])
  const bands = bandsOver(distribution).map((band) => ({ ...band }))
  for (const score of scores) {
    const band = bands.find(({ max }) => max === null || score < max)
    if (band !== undefined) band.n++
  }
  const n = scores.length
  return {
    n,
    meanScore: n === 0 ? null : sum.value / n,
    counts: { features: Object.fromEntries(features), score_bands: bands },
  }
}

function addCell(counts: Float64Array | undefined, place: number): void {
  if (counts !== undefined) counts[place] = (counts[place] ?? 0) + 1
}

/** @throws Error for a value of an impossible type, which no reader of samples gives */
function placeOf(
  { model }: Card,
  { slots }: ModelScore,
  feature: number,
  layout: FeatureLayout,
): number {
  const cell = model.cellOfSlot[slots[feature] ?? -1] ?? -1
  const place = layout.placeOf[cell] ?? -1
  if (place < 0) throw new Error(`an applicant has an impossible value for ${layout.name}`)
  return place
}
