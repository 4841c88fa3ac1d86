import { AppError } from '../errors.ts'
import {
  type CurrentPerformance,
  type LabelledQuery,
  type LabelledStore,
  labelledApplicants,
} from '../performance/labelled.ts'
import { APPLICANTS_MAX } from '../performance/population.ts'
import { brierOf } from '../performance/statistics/brier.ts'
import { type Direction, discriminationOf } from '../performance/statistics/discrimination.ts'

type Outcome = CurrentPerformance['outcome']

/** Outcomes of a definition, by applicant as `request/index`. */
export interface KnownOutcomes {
  readonly definition: string
  readonly byApplicant: ReadonlyMap<string, Outcome>
}

/**
 * Reads the current outcomes of the applicants of a period.
 *
 * @throws AppError `invalid_request` above `APPLICANTS_MAX`; what `signal` was aborted with
 */
export async function readOutcomes(
  store: LabelledStore,
  query: Omit<LabelledQuery, 'asKnownAtMs'>,
  signal: AbortSignal,
): Promise<KnownOutcomes> {
  const byApplicant = new Map<string, Outcome>()
  const all = { ...query, asKnownAtMs: Number.POSITIVE_INFINITY }
  for await (const portion of labelledApplicants(store, all)) {
    signal.throwIfAborted()
    for (const { applicant, performance } of portion) {
      if (performance === null) continue
      byApplicant.set(`${applicant.requestId}/${applicant.recordIndex}`, performance.outcome)
    }
    if (byApplicant.size > APPLICANTS_MAX) {
      const message = `the period has more than ${APPLICANTS_MAX} outcomes: choose a shorter one`
      throw new AppError('invalid_request', message)
    }
  }
  return { definition: query.definition, byApplicant }
}

/** How well the exact scores of a candidate tell good from bad. */
export class CandidatePerformance {
  private readonly known: KnownOutcomes
  private readonly direction: Direction
  private readonly byScore = new Map<number, { good: number; bad: number }>()
  private readonly coverage = {
    scored: 0,
    exact: 0,
    matched: 0,
    good: 0,
    bad: 0,
    indeterminate: 0,
    excluded: 0,
  }

  constructor(known: KnownOutcomes, direction: Direction) {
    this.known = known
    this.direction = direction
  }

  /**
   * Adds a scoring.
   *
   * @param applicant as `request/index`
   * @param score null where the logged bins leave it open
   */
  add(applicant: string, score: number | null): void {
    const { coverage, byScore } = this
    coverage.scored++
    if (score !== null) coverage.exact++
    const outcome = this.known.byApplicant.get(applicant)
    if (outcome === undefined) return
    coverage.matched++
    coverage[outcome]++
    if (score === null || (outcome !== 'good' && outcome !== 'bad')) return
    const count = byScore.get(score) ?? { good: 0, bad: 0 }
    byScore.set(score, count)
    count[outcome]++
  }

  /** @param pdOf the candidate's probability of a score; NaN where it has none */
  fields(pdOf: (score: number) => number) {
    const counts = [...this.byScore].map(([score, { good, bad }]) => ({
      score,
      good,
      bad,
      pd: pdOf(score),
    }))
    const good = counts.reduce((sum, count) => sum + count.good, 0)
    const bad = counts.reduce((sum, count) => sum + count.bad, 0)
    const found = discriminationOf(counts, this.direction)
    return {
      definition: this.known.definition,
      n: good + bad,
      good,
      bad,
      coverage: this.coverage,
      auc: found.auc,
      auc_se: found.aucSe,
      auc_low: found.aucLow,
      auc_high: found.aucHigh,
      gini: found.gini,
      gini_low: found.giniLow,
      gini_high: found.giniHigh,
      ks: found.ks,
      ks_score: found.ksScore,
      brier: brierOf(counts),
    }
  }
}
