import type { ScoredApplicant } from '../outcomes/applicant.ts'

/** An applicant with what is known of them at a moment. */
export interface LabelledApplicant {
  readonly applicant: ScoredApplicant
  /** The current outcome of the definition; null without one. */
  readonly performance: CurrentPerformance | null
  /** The current decision; null without one. */
  readonly decision: CurrentDecision | null
}

export interface CurrentPerformance {
  readonly outcome: 'good' | 'bad' | 'indeterminate' | 'excluded'
  readonly asOfMs: number
  readonly eventAtMs: number | null
  readonly bookedAtMs: number | null
}

export interface CurrentDecision {
  readonly isApproved: boolean
  readonly bookedAtMs: number | null
}

export interface LabelledQuery {
  readonly teamId: string
  readonly deploymentId: string
  readonly definition: string
  readonly fromMs: number
  readonly toMs: number
  /** Only what was recorded until then; infinite: all. */
  readonly asKnownAtMs: number
}

/** Reads applicants with outcomes. */
export interface LabelledStore {
  /** The next applicants in the order of their scores; empty at the end. */
  portion(query: LabelledQuery, after: LabelledPosition | null): Promise<LabelledPortion>
}

export interface LabelledPosition {
  readonly scoredAtMs: number
  readonly requestId: string
  readonly recordIndex: number
}

export interface LabelledPortion {
  readonly applicants: readonly LabelledApplicant[]
  readonly next: LabelledPosition | null
}

/** All applicants of a query, portion by portion. */
export async function* labelledApplicants(
  store: LabelledStore,
  query: LabelledQuery,
): AsyncGenerator<readonly LabelledApplicant[]> {
  let after: LabelledPosition | null = null
  do {
    const portion: LabelledPortion = await store.portion(query, after)
    if (portion.applicants.length > 0) yield portion.applicants
    after = portion.next
  } while (after !== null)
}

/** When the account was booked, by the outcome or else by the decision. */
export function bookedAtOf({ performance, decision }: LabelledApplicant): number | null {
  return performance?.bookedAtMs ?? decision?.bookedAtMs ?? null
}
