import { type TSchema, Type } from '@sinclair/typebox'
import { InputFault } from './alarms.ts'
import { Environment, NextCursor, Timestamp } from './common.ts'
import { ChampionModel } from './deployments.ts'
import { Cutoffs, Stability, Verdict } from './monitoring.ts'
import { DEFINITION_ID_PATTERN } from './patterns.ts'
import { Performance, PerformanceVerdicts } from './performance.ts'

/** Weeks of the series of an overview. */
export const OVERVIEW_WEEKS = 13
/** Deployments of one page, at most and by default. */
export const OVERVIEW_PAGE_MAX = 100

const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const NullableNumber = nullable(Type.Number())
const Moment = nullable(Timestamp)

export const OverviewQuery = Type.Object(
  {
    environment: Type.Optional(Environment),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: OVERVIEW_PAGE_MAX,
        description: `Maximum number of deployments in the response; ${OVERVIEW_PAGE_MAX} when left out`,
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: '`next_cursor` of the previous page',
      }),
    ),
  },
  { additionalProperties: false },
)

const SINCE = 'Start of the first of the weeks in a row that say so, up to the newest complete one'

export const ShiftedFeature = Type.Object({
  name: Type.String(),
  verdict: Verdict,
  csi_psi: Type.Number(),
  csi_points: NullableNumber,
  cv_95: NullableNumber,
  p_value: NullableNumber,
  since: Type.Union([Timestamp, Type.Null()], { description: SINCE }),
})

export const PeriodStability = Type.Object({
  verdict: Type.Union([Verdict, Type.Null()], { description: 'As an alarm judges the period' }),
  psi: NullableNumber,
  cv_95: Type.Union([Type.Number(), Type.Null()], { description: 'What chance alone explains' }),
  p_value: NullableNumber,
  since: Type.Union([Timestamp, Type.Null()], { description: SINCE }),
  moved: Type.Array(ShiftedFeature, { description: 'The most moved first' }),
  input_faults: Type.Array(InputFault),
})

export const MissingFeature = Type.Object({
  name: Type.String(),
  share: Type.Number(),
  expected_share: Type.Number({ description: 'In the development sample' }),
  p_value: Type.Number(),
  since: Type.Union([Timestamp, Type.Null()], { description: SINCE }),
})

export const MissingWord = Type.Unsafe<'as_expected' | 'more_missing' | 'insufficient_data'>(
  Type.String({
    enum: ['as_expected', 'more_missing', 'insufficient_data'],
    description:
      '`more_missing`: features of which at least a percentage point more values are missing than in the development sample, beyond chance among all features',
  }),
)

export const PeriodMissing = Type.Object({
  verdict: nullable(MissingWord),
  features: Type.Array(MissingFeature, { description: 'The most missing first' }),
})

export const PeriodVerdicts = Type.Object({
  from: Timestamp,
  to: Timestamp,
  model_id: Type.String(),
  model_version: Type.String(),
  baseline_id: nullable(Type.String()),
  n: Type.Integer({ description: 'Applicants, each once with the last score' }),
  mean_score: NullableNumber,
  mean_expected: NullableNumber,
  stability: PeriodStability,
  missing: PeriodMissing,
})

export const KnownPerformance = Type.Object({
  from: Timestamp,
  to: Timestamp,
  definition: Type.String(),
  n: Type.Integer(),
  good: Type.Integer(),
  bad: Type.Integer(),
  auc: NullableNumber,
  gini: NullableNumber,
  verdicts: PerformanceVerdicts,
})

export const OverviewWeek = Type.Object({
  from: Timestamp,
  to: Timestamp,
  is_complete: Type.Boolean(),
  volume: Type.Integer({ description: 'Answered applicants, as `total_requests` of stats' }),
  mean_score: Type.Union([Type.Number(), Type.Null()], { description: 'Of these answers' }),
  psi: NullableNumber,
  cv_95: NullableNumber,
  verdict: nullable(Verdict),
  approval_rate: Type.Union([Type.Number(), Type.Null()], {
    description: 'At the cut-off of the deployment, by the champion',
  }),
  good: nullable(Type.Integer()),
  bad: nullable(Type.Integer()),
  bad_rate: Type.Union([Type.Number(), Type.Null()], { description: 'Where outcomes are known' }),
})

export const OverviewChallenger = Type.Object({
  id: Type.String(),
  model_id: Type.String(),
  version: Type.String(),
  traffic_pct: Type.Number(),
})

export const OverviewAlarm = Type.Object({
  is_on: Type.Boolean(),
  verdict: nullable(Verdict),
  n: NullableNumber,
  psi: NullableNumber,
  days: Type.Integer(),
  evaluated_at: Moment,
  changed_at: Moment,
})

export const OverviewChange = Type.Object({ at: Timestamp, action: Type.String() })

export const Attention = Type.Unsafe<'act' | 'watch' | 'unknown' | 'none'>(
  Type.String({
    enum: ['act', 'watch', 'unknown', 'none'],
    description:
      '`act`: a major shift, lost power, a scoring that ranks backwards, or probabilities too low. `watch`: a moderate shift, more missing values, or probabilities to watch. `unknown`: nothing could be judged yet',
  }),
)

export const OverviewDeployment = Type.Object({
  id: Type.String(),
  slug: Type.String(),
  name: Type.String(),
  environment: Environment,
  is_active: Type.Boolean(),
  attention: Attention,
  champion_model: ChampionModel,
  challengers: Type.Array(OverviewChallenger),
  shadow_mode: Type.Boolean(),
  cutoff: NullableNumber,
  alarm: nullable(OverviewAlarm),
  week: Type.Union([PeriodVerdicts, Type.Null()], {
    description:
      'Newest complete week; null until it was judged, with the cut-off and model of now',
  }),
  month: nullable(PeriodVerdicts),
  labels: Type.Record(Type.String(), Type.String(), {
    description: 'Labels that the card has for the features that week and month name, by name',
  }),
  performance: Type.Union([KnownPerformance, Type.Null()], {
    description:
      'Scores of the year before the end of the newest complete week; null without outcomes',
  }),
  weeks: Type.Array(OverviewWeek, { description: 'Oldest first; the last one is under way' }),
  waiting_changes: Type.Integer(),
  last_change: nullable(OverviewChange),
  judged_at: Type.Union([Timestamp, Type.Null()], {
    description: 'When verdicts and shares were made; volumes and mean scores are of now',
  }),
})

export const OverviewRange = Type.Object({ from: Timestamp, to: Timestamp })

export const Overview = Type.Object({
  week: OverviewRange,
  month: OverviewRange,
  deployments: Type.Array(OverviewDeployment, { description: 'Those that need attention first' }),
  next_cursor: NextCursor,
})

export const MonthlyReportQuery = Type.Object(
  {
    definition: Type.Optional(
      Type.String({
        pattern: DEFINITION_ID_PATTERN,
        description: 'Outcome definition of the performance; without it, none is reported',
      }),
    ),
    as_known_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Outcomes, baselines, models and cut-offs of later do not count; now',
      }),
    ),
  },
  { additionalProperties: false },
)

export const ReportCheckpoint = Type.Object({
  origin: Type.String(),
  size: Type.Integer(),
  root: Type.String(),
  checkpoint: Type.String(),
})

export const ReportChange = Type.Object({
  at: Timestamp,
  action: Type.String(),
  reason: nullable(Type.String()),
})

export const MonthlyReport = Type.Object({
  deployment_id: Type.String(),
  name: Type.String(),
  environment: Environment,
  month: Type.String({ description: 'As 2026-10' }),
  from: Timestamp,
  to: Timestamp,
  is_complete: Type.Boolean(),
  as_known_at: Timestamp,
  champion_model: ChampionModel,
  cutoff: NullableNumber,
  verdicts: PeriodVerdicts,
  stability: Stability,
  weeks: Type.Array(PeriodVerdicts, { description: 'Weeks that begin in the month' }),
  cutoffs: Cutoffs,
  performance: Type.Union([Performance, Type.Null()], {
    description: 'Of all scores until the end of the month, in a year; null without a definition',
  }),
  changes: Type.Array(ReportChange, { description: 'Changes of the month, oldest first' }),
  checkpoint: ReportCheckpoint,
})
