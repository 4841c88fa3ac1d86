import type { Static } from '@sinclair/typebox'
import type { Verdict } from '../../../schemas/monitoring.ts'
import type { Attention, KnownPerformance } from '../../../schemas/overview.ts'
import type { Environment } from '../../http/access/caller.ts'
import type { Period } from './judge-period.ts'

export type KnownFigures = Static<typeof KnownPerformance>
type AttentionWord = (typeof Attention)['static']
type VerdictWord = (typeof Verdict)['static']

/** From the least to the worst; the place is the level. */
export const ATTENTION = ['none', 'unknown', 'watch', 'act'] as const satisfies AttentionWord[]

/** A complete week, as it is kept. */
export interface JudgedWeek {
  readonly startMs: number
  readonly psi: number | null
  readonly cv95: number | null
  readonly verdict: VerdictWord | null
  readonly approvalRate: number | null
  readonly good: number | null
  readonly bad: number | null
}

/** Facts that a round keeps of a deployment. */
export interface OverviewFacts {
  readonly championId: string
  readonly cutoff: number | null
  readonly week: Period | null
  readonly month: Period | null
  /** Labels of the features that week and month name. */
  readonly labels: Readonly<Record<string, string>>
  readonly performance: KnownFigures | null
  readonly weeks: readonly JudgedWeek[]
}

/** The sources of a deployment's facts. */
export interface OverviewSubject {
  readonly deploymentId: string
  readonly teamId: string
  readonly championId: string
  readonly cutoff: number | null
  readonly watch: number | null
  readonly act: number | null
  /** Newest stored baseline of the champion. */
  readonly baselineId: string | null
  /** First definition of outcomes that the team used; null without one. */
  readonly definition: string | null
  /** Newest outcome of all; null where none of the deployment is known. */
  readonly outcomeRevision: number | null
  readonly basis: string | null
}

export interface WeekVolume {
  readonly deploymentId: string
  readonly startMs: number
  readonly n: number
  readonly meanScore: number
}

export interface OverviewRow {
  readonly id: string
  readonly name: string
  readonly environment: Environment
  readonly isActive: boolean
  readonly shadowMode: boolean
  readonly cutoff: number | null
  readonly champion: { readonly id: string; readonly name: string; readonly version: string }
  readonly challengers: readonly {
    readonly id: string
    readonly model_id: string
    readonly version: string
    readonly traffic_pct: number
  }[]
  readonly level: number
  readonly facts: OverviewFacts | null
  readonly madeAtMs: number | null
  readonly alarm: {
    readonly isOn: boolean
    readonly verdict: VerdictWord | null
    readonly n: number | null
    readonly psi: number | null
    readonly days: number
    readonly evaluatedAtMs: number | null
    readonly changedAtMs: number | null
  } | null
  readonly waitingChanges: number
  readonly lastChange: { readonly atMs: number; readonly action: string } | null
}

export interface OverviewPage {
  readonly teamId: string
  readonly environment: Environment | null
  readonly limit: number
  /** The last row of the page before; null for the first page. */
  readonly after: { readonly level: number; readonly id: string } | null
}

export interface MadeFacts {
  readonly facts: OverviewFacts
  readonly level: number
  readonly basis: string
}

/** Returns how much attention facts ask for, as a place in `ATTENTION`. */
export function decideLevel({ week, month, performance }: OverviewFacts): number {
  const verdicts = [week, month].map((period) => period?.stability.verdict ?? null)
  const known = performance?.verdicts
  const isAct =
    verdicts.includes('major_shift') ||
    known?.ranking.verdict === 'ranks_backwards' ||
    known?.power.verdict === 'lost_power' ||
    known?.probabilities.verdict === 'too_low'
  if (isAct) return ATTENTION.indexOf('act')
  const isWatch =
    verdicts.includes('moderate_shift') ||
    [week, month].some((period) => period?.missing.verdict === 'more_missing') ||
    known?.probabilities.verdict === 'watch' ||
    known?.probabilities.verdict === 'too_high'
  if (isWatch) return ATTENTION.indexOf('watch')
  const isJudged = verdicts.includes('stable') || (known?.ranking.verdict ?? '') === 'ranks'
  return ATTENTION.indexOf(isJudged ? 'none' : 'unknown')
}
