import type { ScoredApplicant, ScoringPlace } from '../../outcomes/applicant.ts'

/** Facts of an applicant at a moment. */
export interface ApplicantFacts {
  /** The current outcome of the definition; null without one. */
  readonly performance: CurrentPerformance | null
  /** The current decision; null without one. */
  readonly decision: CurrentDecision | null
}

/** An applicant with the scoring that counts. */
export interface LabelledApplicant extends ApplicantFacts {
  readonly applicant: ScoredApplicant
}

export interface CurrentPerformance {
  readonly outcome: 'good' | 'bad' | 'indeterminate' | 'excluded'
  readonly asOfMs: number
  readonly eventAtMs: number | null
  readonly bookedAtMs: number | null
}

interface CurrentDecision {
  readonly isApproved: boolean
  readonly bookedAtMs: number | null
}

/** The current fact has the greatest `asOfMs`, and of these the last revision. */
export interface FactOrder {
  readonly asOfMs: number
  readonly revision: number
}

export interface ScoringFacts {
  readonly place: ScoringPlace
  readonly referenceHash: string | null
  readonly performance: (CurrentPerformance & FactOrder) | null
  readonly decision: (CurrentDecision & FactOrder) | null
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

/** When the account was booked, by the outcome or else by the decision. */
export function findBookedAt({ performance, decision }: ApplicantFacts): number | null {
  return performance?.bookedAtMs ?? decision?.bookedAtMs ?? null
}

/** Tells whether the outcome is good or bad, which says how good the score was. */
export function hasLabel({ performance }: ApplicantFacts): boolean {
  return performance?.outcome === 'good' || performance?.outcome === 'bad'
}
