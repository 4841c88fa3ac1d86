import type { Static } from '@sinclair/typebox'
import type * as auditlog from '../../../schemas/auditlog.ts'
import type * as deployments from '../../../schemas/deployments.ts'
import type * as keys from '../../../schemas/keys.ts'
import type * as members from '../../../schemas/members.ts'
import type * as models from '../../../schemas/models.ts'
import type * as scoring from '../../../schemas/scoring.ts'
import type * as stats from '../../../schemas/stats.ts'

/** What the API answers, by its contract. */
export type ListedDeployment = Static<typeof deployments.DeploymentList>['deployments'][number]
export type Deployment = Static<typeof deployments.Deployment>
export type Challenger = Deployment['challengers'][number]
export type ListedModel = Static<typeof models.ListedModel>
export type Model = Omit<Static<typeof models.Model>, 'spec'> & { readonly spec: Spec }
export type DeployResult = Static<typeof models.DeployResult>
export type ListedKey = Static<typeof keys.ListedKey>
export type CreatedKey = Static<typeof keys.CreatedKey>
export type Member = Static<typeof members.Member>
export type Role = Member['role']
export type AuditRecord = Static<typeof auditlog.AuditRecord>
export type Stats = Static<typeof stats.DeploymentStats>
export type Series = Static<typeof stats.StatsSeries>
export type Comparison = Static<typeof stats.ModelComparison>
export type ComparedModel = Comparison['models'][number]
export type ComparedChallenger = Comparison['challengers'][number]
export type Histogram = NonNullable<ComparedModel['scores']>
export type ScoreResult = Static<typeof scoring.ScoreResult>
export type Warning = Static<typeof scoring.Warning>

/** A scorecard that the service has accepted, as far as the console reads it. */
export interface Spec {
  readonly name: string
  readonly version: string
  readonly target: string
  readonly base_points: number
  readonly features: readonly Feature[]
  readonly scaling: {
    readonly base_score: number
    readonly base_odds: number
    readonly pdo: number
  }
  readonly risk_grades?: readonly {
    readonly grade: string
    readonly min_score: number | null
    readonly max_score: number | null
  }[]
}

export interface Feature {
  readonly name: string
  readonly type: 'numeric' | 'categorical'
  /** Numeric ones have a range, the others a value. */
  readonly bins: readonly {
    readonly range?: string
    readonly value?: string
    readonly points: number
  }[]
}
