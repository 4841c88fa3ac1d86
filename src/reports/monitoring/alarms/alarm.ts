import type { Transaction } from '../../../platform/db/client.ts'
import type { AlarmLevels } from '../../../registry/deployments/deployment.ts'
import type { Thresholds, Verdict } from '../statistics/population-stability.ts'
import type { Evaluation, EvaluationBasis } from './verdict.ts'

/** Levels with what the last evaluation found. */
export interface Alarm extends AlarmLevels {
  readonly deploymentId: string
  readonly verdict: Verdict | null
  /** Null before the first evaluation. */
  readonly n: number | null
  readonly psi: number | null
  readonly moved: Evaluation['moved']
  /** Null before the first evaluation. */
  readonly basis: EvaluationBasis | null
  readonly evaluatedAt: Date | null
  /** When the verdict became what it is; null before it first did. */
  readonly changedAt: Date | null
}

/** An alarm whose turn it is. */
export interface TakenAlarm extends AlarmLevels {
  readonly deploymentId: string
  readonly teamId: string
  readonly verdict: Verdict | null
}

/** The verdict on a deployment is another one than an hour ago. */
export interface VerdictChanged {
  readonly type: 'stability.verdict_changed'
  readonly teamId: string
  readonly deploymentId: string
  readonly at: Date
  /** Null before the first evaluation, and while there was no baseline. */
  readonly before: Verdict | null
  readonly after: Verdict | null
  readonly n: number
  readonly psi: number | null
  readonly moved: Evaluation['moved']
  readonly basis: EvaluationBasis
  readonly thresholds: Thresholds
  /** Length of the evaluated period, which ends at `at`. */
  readonly days: number
}

/** Tells others of changed verdicts. */
export interface StabilityEvents {
  /** Writes an event in the transaction of the change, so that both are committed or neither. */
  add(tx: Transaction, event: VerdictChanged): Promise<void>
}

/** Alarms in force, as metrics show them. */
export interface AlarmCounts {
  readonly byVerdict: Readonly<Record<Verdict | 'none', number>>
  /** Alarms whose turn was more than an hour ago. */
  readonly overdue: number
}

/** A change of a deployment, as charts mark it. */
export interface LoggedChange {
  readonly at: Date
  /** Action of the audit log, or `stability_verdict`. */
  readonly kind: string
  /** State after the change, as the audit log has it; null for a verdict. */
  readonly state: unknown
  readonly verdict: Verdict | null
}

/** So many of each are read, so that neither pushes the other out. */
export interface HistoryLimits {
  readonly changes: number
  readonly verdicts: number
}
