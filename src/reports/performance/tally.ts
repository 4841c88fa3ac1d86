import type { ScoredApplicant, StoredResult } from '../../outcomes/applicant.ts'
import { findBookedAt, hasLabel, type LabelledApplicant } from './labelled.ts'
import { ScoreCounts } from './statistics/score-counts.ts'
import { addMonths } from './statistics/vintages.ts'

/** Counts of a report beside those of the log. */
export interface CoverageCounts {
  approved: number
  booked: number
  mature: number
  matched: number
  good: number
  bad: number
  indeterminate: number
  excluded: number
}

/** Applicants of a bin, a grade or a band. */
export interface GroupTally {
  n: number
  bad: number
  pdSum: number
  /** Sum of pd (1 - pd). */
  pdVariance: number
}

/** The challenger and the model of the report, on the same good and bad applicants. */
interface PairTally {
  readonly challengerId: string
  readonly modelId: string
  readonly champion: number[]
  readonly challenger: number[]
  readonly isBad: boolean[]
}

/** Counts that a report needs of good and bad applicants, in one pass over them. */
export class PerformanceTally {
  readonly coverage: CoverageCounts = {
    approved: 0,
    booked: 0,
    mature: 0,
    matched: 0,
    good: 0,
    bad: 0,
    indeterminate: 0,
    excluded: 0,
  }
  readonly byScore = new ScoreCounts()
  readonly byGrade = new Map<string | null, GroupTally>()
  /** For each feature by its cell. */
  readonly byCell: Map<number, GroupTally>[] = []
  readonly pairs = new Map<string, PairTally>()
  private readonly modelId: string
  private readonly maturityMonths: number

  constructor(modelId: string, maturityMonths: number) {
    this.modelId = modelId
    this.maturityMonths = maturityMonths
  }

  /**
   * Counts an applicant, once.
   *
   * @returns false, without a change, where the model did not score the applicant
   */
  add(labelled: LabelledApplicant): boolean {
    const { applicant, performance, decision } = labelled
    const own = findResult(applicant, this.modelId)
    if (own === null) return false
    const { coverage } = this
    const outcome = performance?.outcome ?? null
    const bookedAtMs = findBookedAt(labelled)
    if (decision?.isApproved === true) coverage.approved++
    if (bookedAtMs !== null) coverage.booked++
    if (performance === null || outcome === null) return true
    coverage.matched++
    coverage[outcome]++
    if (bookedAtMs !== null && performance.asOfMs >= addMonths(bookedAtMs, this.maturityMonths)) {
      coverage.mature++
    }
    if (hasLabel(labelled)) this.addKnown(applicant, own, outcome === 'bad')
    return true
  }

  private addKnown(
    applicant: ScoredApplicant,
    [, , score, pd, grade, cells]: NonNullable<StoredResult>,
    isBad: boolean,
  ): void {
    if (score === null) return
    const risk = pd ?? Number.NaN
    this.byScore.add(score, risk, isBad ? 0 : 1, isBad ? 1 : 0)
    this.byGrade.set(grade, addTo(this.byGrade.get(grade) ?? emptyGroup(), isBad, risk))
    for (const [feature, cell] of cells.entries()) {
      const column = this.byCell[feature] ?? new Map()
      this.byCell[feature] = column
      column.set(cell, addTo(column.get(cell) ?? emptyGroup(), isBad, risk))
    }
    for (const other of applicant.results) this.addPair(other, score, isBad)
  }

  private addPair(other: StoredResult, champion: number, isBad: boolean): void {
    if (other === null) return
    const [modelId, challengerId, score] = other
    if (challengerId === null || score === null || modelId === this.modelId) return
    const name = `${challengerId} ${modelId}`
    const pair = this.pairs.get(name) ?? {
      challengerId,
      modelId,
      champion: [],
      challenger: [],
      isBad: [],
    }
    this.pairs.set(name, pair)
    pair.champion.push(champion)
    pair.challenger.push(score)
    pair.isBad.push(isBad)
  }
}

function findResult(
  { results }: ScoredApplicant,
  modelId: string,
): NonNullable<StoredResult> | null {
  return results.find((result) => result !== null && result[0] === modelId) ?? null
}

export function emptyGroup(): GroupTally {
  return { n: 0, bad: 0, pdSum: 0, pdVariance: 0 }
}

/** Counts an applicant in a group. */
function addTo(group: GroupTally, isBad: boolean, pd: number): GroupTally {
  group.n++
  if (isBad) group.bad++
  group.pdSum += pd
  group.pdVariance += pd * (1 - pd)
  return group
}
