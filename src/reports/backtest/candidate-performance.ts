import type { Dedupe } from '../../log/index.ts'
import type { LabelledQuery } from '../performance/labelled.ts'
import { LabelledApplicants } from '../performance/labelled-applicants.ts'
import { computeProbabilityFit } from '../performance/statistics/calibration.ts'
import { computeDiscrimination, type Direction } from '../performance/statistics/discrimination.ts'
import { computeKsInterval } from '../performance/statistics/ks-interval.ts'
import { ScoreCounts } from '../performance/statistics/score-counts.ts'
import type { PerformanceStore } from '../performance/store.ts'

/** Outcomes of a definition. */
export interface KnownOutcomes {
  readonly definition: string
  readonly applicants: LabelledApplicants
}

interface ReadOptions {
  /** With `none` each scoring has its own outcome, else all with one reference have one. */
  readonly dedupe: Dedupe
  readonly signal: AbortSignal
}

/**
 * Reads the current outcomes of the applicants of a period.
 *
 * @throws AppError `invalid_request` above `APPLICANTS_MAX`; what `signal` was aborted with
 */
export async function readOutcomes(
  store: PerformanceStore,
  query: Omit<LabelledQuery, 'asKnownAtMs'>,
  { dedupe, signal }: ReadOptions,
): Promise<KnownOutcomes> {
  const all = { ...query, asKnownAtMs: Number.POSITIVE_INFINITY }
  const options = { isByReference: dedupe !== 'none', signal }
  const applicants = await LabelledApplicants.read(store, all, options)
  return { definition: query.definition, applicants }
}

/** Discrimination of the exact scores of a candidate. */
export class CandidatePerformance {
  private readonly outcomes: KnownOutcomes
  private readonly direction: Direction
  private readonly computePd: (score: number) => number
  private readonly byScore = new ScoreCounts()
  /** Applicants with an exact score and a good or bad outcome. */
  private readonly known = { good: 0, bad: 0 }
  private readonly coverage = {
    scored: 0,
    exact: 0,
    matched: 0,
    good: 0,
    bad: 0,
    indeterminate: 0,
    excluded: 0,
  }

  /** @param computePd the candidate's probability of a score; NaN where it has none */
  constructor(outcomes: KnownOutcomes, direction: Direction, computePd: (score: number) => number) {
    this.outcomes = outcomes
    this.direction = direction
    this.computePd = computePd
  }

  /**
   * Adds a scoring.
   *
   * @param key see `makeKey`
   * @param score null where the logged bins leave it open
   */
  add(key: string, reference: string | null, score: number | null): void {
    const { coverage } = this
    coverage.scored++
    if (score !== null) coverage.exact++
    const known = this.outcomes.applicants.ofLogged(key, reference)
    const outcome = known < 0 ? null : this.outcomes.applicants.findOutcome(known)
    if (outcome === null) return
    coverage.matched++
    coverage[outcome]++
    if (score === null || (outcome !== 'good' && outcome !== 'bad')) return
    const isBad = outcome === 'bad'
    this.byScore.add(score, this.computePd(score), isBad ? 0 : 1, isBad ? 1 : 0)
    this.known[outcome]++
  }

  /** The figures of what was added. It gives way to the event loop. */
  async fields() {
    const counts = await this.byScore.sorted()
    const { good, bad } = this.known
    const found = await computeDiscrimination(counts, this.direction)
    const ks = await computeKsInterval(counts, found)
    const { brier, spiegelhalter } = await computeProbabilityFit(counts)
    return {
      definition: this.outcomes.definition,
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
      ks_low: ks?.low ?? null,
      ks_high: ks?.high ?? null,
      brier,
      spiegelhalter: spiegelhalter && { z: spiegelhalter.z, p_value: spiegelhalter.pValue },
    }
  }
}
