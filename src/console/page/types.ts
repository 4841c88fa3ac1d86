import type { Static } from '@sinclair/typebox'
import type * as alarms from '../../../schemas/alarms.ts'
import type * as auditlog from '../../../schemas/auditlog.ts'
import type * as batches from '../../../schemas/batches.ts'
import type * as changeRequests from '../../../schemas/change-requests.ts'
import type * as deployments from '../../../schemas/deployments.ts'
import type * as imports from '../../../schemas/import.ts'
import type * as jobs from '../../../schemas/jobs.ts'
import type * as keys from '../../../schemas/keys.ts'
import type * as members from '../../../schemas/members.ts'
import type * as models from '../../../schemas/models.ts'
import type * as monitoring from '../../../schemas/monitoring.ts'
import type * as outcomes from '../../../schemas/outcomes.ts'
import type * as ownAccount from '../../../schemas/own-account.ts'
import type * as performance from '../../../schemas/performance.ts'
import type * as reasons from '../../../schemas/reasons.ts'
import type * as scores from '../../../schemas/scores.ts'
import type * as scoring from '../../../schemas/scoring.ts'
import type * as serviceAccounts from '../../../schemas/service-accounts.ts'
import type * as stats from '../../../schemas/stats.ts'
import type * as versions from '../../../schemas/versions.ts'
import type * as webhooks from '../../../schemas/webhooks.ts'

/** Response types of the API, from its schemas. */
export type ListedDeployment = Static<typeof deployments.DeploymentList>['deployments'][number]
export type Deployment = Static<typeof deployments.Deployment>
export type Challenger = Deployment['challengers'][number]
export type ListedModel = Static<typeof models.ListedModel>
export type Model = Omit<Static<typeof models.Model>, 'spec'> & { readonly spec: Spec }
type StoredCertificate = NonNullable<Static<typeof models.Model>['parity']>
/** A stored certificate; those of earlier versions lack the last fields. */
export type Certificate = Omit<StoredCertificate, 'tool' | 'card_sha256'> & {
  /** Null if a specification was compared instead of the card of a tool. */
  readonly tool: string | null
  readonly card_sha256: string | null
  readonly pd_checked?: boolean
  readonly pd_fitted?: boolean
  readonly pd_rows?: number
  readonly differing_by?: { readonly score: number; readonly points: number; readonly pd: number }
}
export type ImportResult = Omit<Static<typeof imports.ImportResult>, 'spec'> & {
  readonly spec: Spec | null
}
export type ImportNote = Static<typeof imports.ImportNote>
export type ImportDifference = Static<typeof imports.ParityDifference>
export type DeployResult = Static<typeof models.DeployResult>
export type ListedKey = Static<typeof keys.ListedKey>
export type CreatedKey = Static<typeof keys.CreatedKey>
export type ListedServiceAccount = Static<typeof serviceAccounts.ListedServiceAccount>
export type IssuedServiceAccount = Static<typeof serviceAccounts.IssuedServiceAccount>
export type OwnSession = Static<typeof ownAccount.Session>
export type Member = Static<typeof members.Member>
export type Role = Member['role']
export type AuditRecord = Static<typeof auditlog.AuditRecord>
export type Stats = Static<typeof stats.DeploymentStats>
export type Series = Static<typeof stats.StatsSeries>
export type Comparison = Static<typeof stats.ModelComparison>
export type ComparedModel = Comparison['models'][number]
export type ComparedChallenger = Comparison['challengers'][number]
export type Stability = Static<typeof monitoring.Stability>
export type FeatureStability = Stability['features'][number]
export type StabilitySeries = Static<typeof monitoring.StabilitySeries>
export type Alarm = Static<typeof alarms.Alarm>
export type DeploymentHistory = Static<typeof alarms.DeploymentHistory>
export type HistoryChange = DeploymentHistory['changes'][number]
export type Cutoffs = Static<typeof monitoring.Cutoffs>
export type SwapSet = Static<typeof monitoring.SwapSet>
export type VersionComparison = Static<typeof versions.VersionComparison>
export type Migration = Static<typeof monitoring.Migration>
export type Histogram = NonNullable<ComparedModel['scores']>
export type OutcomeDefinition = Static<typeof outcomes.OutcomeDefinition>
export type OutcomeImport = Static<typeof outcomes.OutcomeImport>
export type Batch = Static<typeof batches.Batch>
export type Performance = Static<typeof performance.Performance>
export type Vintages = Static<typeof performance.Vintages>
export type ScoreResult = Static<typeof scoring.ScoreResult>
export type LoggedScore = Static<typeof scores.LoggedScore>
export type LoggedResult = LoggedScore['records'][number]['results'][number]
export type LoggedFeature = LoggedResult['features'][number]
export type FoundScore = Static<typeof scores.FoundScore>
export type ChangeRequest = Static<typeof changeRequests.ChangeRequest>
export type ChangeRequestDetail = Static<typeof changeRequests.ChangeRequestDetail>
export type RequestedState = ChangeRequest['before']
export type Webhook = Static<typeof webhooks.Webhook>
export type IssuedWebhook = Static<typeof webhooks.IssuedWebhook>
export type WebhookDelivery = Static<typeof webhooks.Delivery>
export type Warning = Static<typeof scoring.Warning>
export type Explanation = Static<typeof reasons.Explanation>
export type ExplainedFeature = Static<typeof reasons.ExplainedFeature>
export type ReasonOfScore = Static<typeof reasons.Reason>
export type ReasonMethod = Static<typeof reasons.ReasonMethod>
export type ReasonBaseline = Static<typeof reasons.ListedReasonBaseline>
export type ReasonCounts = Static<typeof reasons.ReasonCounts>

/** The parts of an accepted scorecard that the console reads. */
export interface Spec {
  readonly name: string
  readonly version: string
  readonly target: string
  readonly base_points: number
  readonly features: readonly Feature[]
  /** Absent if the scale is unknown; then there is no probability of default. */
  readonly scaling?: {
    readonly base_score: number
    readonly base_odds: number
    readonly pdo: number
  }
  readonly risk_grades?: readonly {
    readonly grade: string
    readonly min_score: number | null
    readonly max_score: number | null
  }[]
  /** How the card explains its scores; anything on a card of an earlier version. */
  readonly reasons?: unknown
  readonly reason_codes?: unknown
}

export interface Feature {
  readonly name: string
  /** What explains scores has an effect only on a card with `reasons`. */
  readonly label?: unknown
  readonly source?: unknown
  readonly reason_code?: unknown
  readonly reason_baseline?: unknown
  readonly reason_eligible?: unknown
  readonly actionable?: unknown
  readonly type: 'numeric' | 'categorical'
  /** Bins of numeric features have a range, the others a value. */
  readonly bins: readonly {
    readonly range?: string
    readonly value?: string
    readonly points: number
    readonly label?: unknown
    readonly reason_code?: unknown
  }[]
}

/** A cell of a swap set. */
export interface SwapCell {
  readonly n: number
  readonly share: number | null
  readonly mean_pd_champion: number | null
  readonly mean_pd_challenger_low: number | null
  readonly mean_pd_challenger_high: number | null
}

/** The parts of the result of a backtest that the console reads. */
export interface BacktestResult {
  readonly n: number
  readonly exact_share: number | null
  readonly features: readonly {
    readonly name: string
    readonly map: string
    readonly exact_share: number | null
  }[]
  readonly scores: {
    readonly mean_low: number | null
    readonly mean_high: number | null
    readonly bands: readonly {
      readonly min: number
      readonly max: number
      readonly n: number
      readonly n_possible: number
    }[]
  }
  readonly psi: { readonly psi: number | null }
  readonly dedupe?: string
  /** Null without a definition. */
  readonly performance: {
    readonly n: number
    readonly bad: number
    readonly coverage: { readonly scored: number }
    readonly auc: number | null
    readonly auc_low: number | null
    readonly auc_high: number | null
    readonly gini: number | null
    readonly gini_low: number | null
    readonly gini_high: number | null
    readonly ks: number | null
    readonly ks_low: number | null
    readonly ks_high: number | null
    readonly brier: number | null
  } | null
  readonly swap_set: {
    readonly cutoff: number
    readonly approval_rate: number | null
    readonly challenger_approval_rate_low: number | null
    readonly challenger_approval_rate_high: number | null
    readonly cells: Readonly<
      Record<'both_approve' | 'swap_out' | 'swap_in' | 'both_decline' | 'undecided', SwapCell>
    >
  } | null
}

export type BacktestJob = Omit<Static<typeof jobs.Job>, 'result'> & {
  readonly result: BacktestResult | null
}
