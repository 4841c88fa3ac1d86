import { Type } from '@sinclair/typebox'
import { ProbabilityOfDefault, Timestamp } from './common.ts'
import { RecordId } from './errors.ts'
import { PERCENTILE_ERROR_MAX, SCORE_BUCKET_WIDTH } from './stats-precision.ts'

/** Maximum and default length of `recent_scores`. */
export const RECENT_SCORES_MAX = 100
export const RECENT_SCORES_DEFAULT = 20

const Moment = (description: string) =>
  Type.Optional(
    Type.String({ format: 'date-time', description: `ISO 8601 with a time zone; ${description}` }),
  )

export const StatsQuery = Type.Object(
  {
    recent: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: RECENT_SCORES_MAX,
        description: `Length of \`recent_scores\`; default: ${RECENT_SCORES_DEFAULT}`,
      }),
    ),
    from: Moment('earlier scores do not count'),
    to: Moment('scores at this time or later do not count'),
  },
  { additionalProperties: false },
)

export const StatsSeriesQuery = Type.Object(
  {
    from: Moment('the first step contains this time; default: one day before `to`'),
    to: Moment('steps that begin at this time or later do not count; default: now'),
  },
  { additionalProperties: false },
)

export const StatsModelsQuery = Type.Object(
  {
    from: Moment('earlier scores do not count'),
    to: Moment('scores at this time or later do not count'),
  },
  { additionalProperties: false },
)

const PERCENTILE_ACCURACY = `within ${PERCENTILE_ERROR_MAX * 100} percent of the exact percentile`

/** What a latency measures, in every answer. */
const LATENCY =
  "Time from the request's headers to its response; for a record of a batch, the time of the batch divided by its number of records"

const NullableNumber = Type.Union([Type.Number(), Type.Null()])
const AveragePd = Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
  description: 'Null if any counted result has no probability of default',
})

export const StatsSummary = Type.Object({
  total_requests: Type.Integer({
    description: 'Number of applicants, not of calls: a batch of ten counts as ten',
  }),
  avg_score: NullableNumber,
  avg_latency_ms: Type.Union([Type.Number(), Type.Null()], { description: LATENCY }),
  p95_latency_ms: Type.Union([Type.Number(), Type.Null()], {
    description: `${LATENCY}; ${PERCENTILE_ACCURACY}`,
  }),
  min_score: NullableNumber,
  max_score: NullableNumber,
  avg_pd: AveragePd,
  last_request_at: Type.Union([Timestamp, Type.Null()]),
  score_buckets: Type.Record(Type.String(), Type.Integer(), {
    description:
      `Counts by range of ${SCORE_BUCKET_WIDTH} points: \`600-700\` includes 600 and excludes ` +
      '700, `-100-0` is the range just below 0',
  }),
})

export const RecentScore = Type.Object({
  request_id: Type.String(),
  id: RecordId,
  score: Type.Number(),
  risk_grade: Type.Union([Type.String(), Type.Null()]),
  pd: ProbabilityOfDefault,
  latency_ms: Type.Number({ description: LATENCY }),
  scored_at: Timestamp,
})

/** Counts served results only: one per applicant, from the model that answered. */
export const DeploymentStats = Type.Object({
  summary: StatsSummary,
  recent_scores: Type.Array(RecentScore, {
    description:
      "Newest first, the last record of a batch first; `id` is the record's id in a batch, otherwise null",
  }),
})

export const StatsStep = Type.Union(
  [Type.Literal('minute'), Type.Literal('hour'), Type.Literal('day')],
  {
    description: 'Minutes for ranges up to 6 hours, hours up to 14 days, days beyond; all in UTC',
  },
)

export const StatsPoint = Type.Object({
  starts_at: Timestamp,
  total_requests: Type.Integer({
    minimum: 1,
    description: 'Number of applicants, not of calls: a batch of ten counts as ten',
  }),
  avg_score: Type.Number(),
  avg_pd: AveragePd,
  avg_latency_ms: Type.Number({ description: LATENCY }),
  p50_latency_ms: Type.Number({ description: `${LATENCY}; ${PERCENTILE_ACCURACY}` }),
  p95_latency_ms: Type.Number({ description: `${LATENCY}; ${PERCENTILE_ACCURACY}` }),
})

/** Scores of a deployment in each step of a time range; steps without scores are left out. */
export const StatsSeries = Type.Object({
  step: StatsStep,
  points: Type.Array(StatsPoint, { description: 'Oldest first' }),
})

/** Number of equal time slices that a comparison counts by. */
export const COMPARISON_SLICES = 30

export const Histogram = Type.Object({
  low: Type.Number({ description: 'Lower end of the first bin' }),
  width: Type.Number({
    description: 'Width of each bin; a bin includes its lower end but not its upper end',
  }),
  counts: Type.Array(Type.Integer()),
})

export const ModelRole = Type.Union([Type.Literal('champion'), Type.Literal('challenger')], {
  description: 'Role of the model when it scored',
})

export const ComparedModel = Type.Object({
  model_id: Type.String(),
  role: ModelRole,
  scored: Type.Integer({
    description: 'Number of applicants that the model scored, served or not',
  }),
  served: Type.Integer({ description: 'Number of applicants whose response came from this model' }),
  avg_score: NullableNumber,
  avg_pd: NullableNumber,
  p50_latency_ms: Type.Union([Type.Number(), Type.Null()], {
    description: `${LATENCY}; counts served applicants only, null if there are none; ${PERCENTILE_ACCURACY}`,
  }),
  p95_latency_ms: NullableNumber,
  scores: Type.Union([Histogram, Type.Null()], {
    description: 'Distribution of all its scores; `low` and `width` are the same for all models',
  }),
  served_by_slice: Type.Array(Type.Integer(), {
    description: `Served applicants in each of ${COMPARISON_SLICES} equal slices from \`first_at\` to \`last_at\``,
  }),
})

export const GradePair = Type.Object({
  champion: Type.Union([Type.String(), Type.Null()]),
  challenger: Type.Union([Type.String(), Type.Null()]),
  applicants: Type.Integer(),
})

export const ComparedChallenger = Type.Object({
  challenger_id: Type.String(),
  model_id: Type.String(),
  champion_model_id: Type.String({ description: 'Champion for the same requests' }),
  compared: Type.Integer({ description: 'Number of applicants that both models scored' }),
  failed: Type.Integer({ description: 'Number of applicants that the challenger failed to score' }),
  avg_difference: Type.Union([Type.Number(), Type.Null()], {
    description: "Mean of the challenger's score minus the champion's",
  }),
  p5_difference: NullableNumber,
  p50_difference: NullableNumber,
  p95_difference: NullableNumber,
  differences: Type.Union([Histogram, Type.Null()]),
  grades: Type.Array(GradePair, {
    description: 'Number of applicants for each pair of grades',
  }),
})

/** Compares the models of a deployment on all applicants of a time range. */
export const ModelComparison = Type.Object({
  applicants: Type.Integer({
    description: 'Number of applicants compared: all of the range',
  }),
  first_at: Type.Union([Timestamp, Type.Null()]),
  last_at: Type.Union([Timestamp, Type.Null()]),
  models: Type.Array(ComparedModel, { description: 'Newest champion first' }),
  challengers: Type.Array(ComparedChallenger),
})
