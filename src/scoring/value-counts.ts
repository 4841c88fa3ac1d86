import type { ModelScore } from '../engine/index.ts'

/**
 * Counts the outcomes of applicants' values on the models that answered, since the process started.
 *
 * Five outcomes, for all deployments together or for one: see `DeploymentValues`. Values that
 * matched cost four additions for each applicant; the features are walked only where a value
 * matched no bin.
 */
export class ValueCounts {
  matched = 0
  /** Absent or null. */
  missing = 0
  /** A value that equals no category of its feature. */
  unseenCategory = 0
  /** A number that lies between the bins of its feature. */
  noBin = 0
  /** A text for a numeric feature. */
  notANumber = 0
  /** Keys that are not features of the model. */
  unknownVariables = 0
  /** Applicants that name no feature at all. */
  withoutFeatures = 0

  /** @param modelScore just filled for the applicant, without invalid values */
  note(modelScore: ModelScore): void {
    const { missingCount, unmatchedCount } = modelScore
    this.matched += modelScore.slots.length - missingCount - unmatchedCount
    this.missing += missingCount
    this.unknownVariables += modelScore.unknownCount
    if (modelScore.namedCount === 0) this.withoutFeatures++
    if (unmatchedCount > 0) this.noteUnmatched(modelScore)
  }

  add(other: ValueTotals): void {
    this.matched += other.matched
    this.missing += other.missing
    this.unseenCategory += other.unseenCategory
    this.noBin += other.noBin
    this.notANumber += other.notANumber
    this.unknownVariables += other.unknownVariables
    this.withoutFeatures += other.withoutFeatures
  }

  totals(): ValueTotals {
    return { ...this }
  }

  private noteUnmatched(modelScore: ModelScore): void {
    for (const { index } of modelScore.model.features) {
      const outcome = modelScore.readOutcome(index)
      if (outcome === 'unseen_category') this.unseenCategory++
      else if (outcome === 'no_bin') this.noBin++
      else if (outcome === 'not_a_number') this.notANumber++
    }
  }
}

/** The totals alone, which can go to another thread. */
export type ValueTotals = Omit<ValueCounts, 'note' | 'add' | 'totals'>

/** Label of what all further deployments have together. */
const OTHERS = 'other'

/**
 * Counts the values of each deployment by itself, for a bounded number of deployments: those that
 * score first after the start. A service with more of them has the rest together.
 */
export class DeploymentValues {
  private readonly most: number
  private readonly counts = new Map<string, ValueCounts>()

  /** @param most 0: nothing is counted */
  constructor(most: number) {
    this.most = most
  }

  /** Returns where the values of a deployment are counted; null: nowhere. */
  find(deploymentId: string): ValueCounts | null {
    if (this.most === 0) return null
    const known = this.counts.get(deploymentId)
    if (known !== undefined) return known
    const label = this.counts.size < this.most ? deploymentId : OTHERS
    const counts = this.counts.get(label) ?? new ValueCounts()
    this.counts.set(label, counts)
    return counts
  }

  entries(): Iterable<readonly [deployment: string, ValueCounts]> {
    return this.counts
  }
}
