import { type CompiledModel, findCellSlots, type ReasonRules } from '../../engine/index.ts'
import type { StoredCard } from '../../log/index.ts'
import { LastOfReferences, type ScoredApplicant } from './applicants.ts'

/** A card with rules for reasons. */
export interface ExplainedCard extends StoredCard {
  readonly rules: ReasonRules
}

/** Scores at the cut-off or slightly better. */
export interface ScoreBand {
  readonly cutoff: number
  readonly points: number
  /** 1 if a higher score is a lower risk, else -1. */
  readonly sign: 1 | -1
}

/** Average points of a population. */
export interface Population {
  readonly n: number
  /** Average points of each feature in spec order. */
  readonly means: readonly number[]
  /** Average score. */
  readonly meanTotal: number
}

/**
 * Averages the points of applicants.
 *
 * With a band, the last scoring of each reference counts, and of these the ones in the band.
 * Without one, every scoring counts. It counts how often each slot was met, so that the averages do
 * not depend on the order of the log.
 *
 * @returns averages of NaN for nobody
 * @throws AppError `invalid_request` for more references than fit in memory
 */
export async function computePopulation(
  card: StoredCard,
  applicants: AsyncIterable<readonly ScoredApplicant[]>,
  band: ScoreBand | null,
): Promise<Population> {
  const tally = new PopulationTally(card.model)
  const last = new LastOfReferences<Int32Array | null>(card.model.features.length)
  for await (const portion of applicants) {
    for (const applicant of portion) {
      const slots = isIn(band, applicant.score) ? findCellSlots(card.model, applicant.cells) : null
      const reference = band === null ? null : applicant.reference()
      if (reference !== null) {
        const { isLast, replaced } = last.add(reference, applicant.scoredAtMs, slots)
        if (!isLast) continue
        if (replaced !== null) tally.add(replaced, -1)
      }
      if (slots !== null) tally.add(slots, 1)
    }
  }
  return tally.population()
}

function isIn(band: ScoreBand | null, score: number): boolean {
  if (band === null) return true
  const above = band.sign * (score - band.cutoff)
  return above >= 0 && above <= band.points
}

/** Number of times that each slot was met. */
class PopulationTally {
  private n = 0
  private readonly counts: Float64Array
  private readonly model: CompiledModel

  constructor(model: CompiledModel) {
    this.model = model
    this.counts = new Float64Array(model.points.length)
  }

  add(slots: Int32Array, times: 1 | -1): void {
    this.n += times
    for (const slot of slots) this.counts[slot] = (this.counts[slot] ?? 0) + times
  }

  population(): Population {
    const { n, counts, model } = this
    const means = model.features.map((_, index) => {
      let sum = 0
      for (
        let slot = model.slotStart[index] ?? 0;
        slot < (model.slotStart[index + 1] ?? 0);
        slot++
      ) {
        sum += (counts[slot] ?? 0) * (model.points[slot] ?? 0)
      }
      return sum / n
    })
    return { n, means, meanTotal: means.reduce((sum, mean) => sum + mean, model.basePoints) }
  }
}
