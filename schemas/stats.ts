import { Type } from '@sinclair/typebox'
import { Timestamp } from './common.ts'

/** Most recent scores that may be asked for, and how many come unasked. */
export const RECENT_SCORES_MAX = 100
export const RECENT_SCORES_DEFAULT = 20

const Moment = (description: string) =>
  Type.Optional(
    Type.String({ format: 'date-time', description: `ISO 8601 with its zone; ${description}` }),
  )

export const StatsQuery = Type.Object(
  {
    recent: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: RECENT_SCORES_MAX,
        description: `Length of \`recent_scores\`, ${RECENT_SCORES_DEFAULT} when left out`,
      }),
    ),
    from: Moment('what was scored before does not count'),
    to: Moment('what was scored then or later does not count'),
  },
  { additionalProperties: false },
)

export const StatsSeriesQuery = Type.Object(
  {
    from: Moment('the step that holds it is the first; a day before `to` when left out'),
    to: Moment('steps that begin then or later do not count; now when left out'),
  },
  { additionalProperties: false },
)

export const StatsModelsQuery = Type.Object(
  {
    from: Moment('what was scored before does not count'),
    to: Moment('what was scored then or later does not count'),
  },
  { additionalProperties: false },
)

const NullableNumber = Type.Union([Type.Number(), Type.Null()])

/** Everything counts served results: one for each applicant, of the model that answered. */
export const DeploymentStats = Type.Object({
  summary: Type.Object({
    total_requests: Type.Integer({ description: 'One for each applicant: a batch of ten is ten' }),
    avg_score: NullableNumber,
    avg_latency_ms: NullableNumber,
    p95_latency_ms: Type.Union([Type.Number({ description: 'Within 1 percent' }), Type.Null()]),
    min_score: NullableNumber,
    max_score: NullableNumber,
    avg_pd: NullableNumber,
    last_request_at: Type.Union([Timestamp, Type.Null()]),
    score_buckets: Type.Record(Type.String(), Type.Integer(), {
      description:
        'Counts by range of 100 points: `600-700` holds 600 and not 700, `-100-0` what is below 0',
    }),
  }),
  recent_scores: Type.Array(
    Type.Object({
      request_id: Type.String(),
      score: Type.Number(),
      risk_grade: Type.Union([Type.String(), Type.Null()]),
      pd: Type.Number({ minimum: 0, maximum: 1, description: 'Probability of default' }),
      latency_ms: Type.Number({ description: 'From headers to answer; one for a whole batch' }),
      scored_at: Timestamp,
    }),
    { description: 'Newest first; of a batch the last record first' },
  ),
})

/** What a deployment answered in each step of a stretch of time; steps without an answer are left out. */
export const StatsSeries = Type.Object({
  step: Type.Union([Type.Literal('minute'), Type.Literal('hour'), Type.Literal('day')], {
    description: 'Minutes up to 6 hours, hours up to 14 days, then days; all in UTC',
  }),
  points: Type.Array(
    Type.Object({
      starts_at: Timestamp,
      total_requests: Type.Integer({ minimum: 1, description: 'One for each applicant' }),
      avg_score: Type.Number(),
      avg_pd: Type.Number({ minimum: 0, maximum: 1 }),
      avg_latency_ms: Type.Number(),
      p50_latency_ms: Type.Number({ description: 'Within 1 percent, as the next' }),
      p95_latency_ms: Type.Number(),
    }),
    { description: 'Oldest first' },
  ),
})

/** Applicants that a comparison looks at; the last batch may bring it to some more. */
export const COMPARED_APPLICANTS_MAX = 2_000
/** Slices of time that a comparison counts by. */
export const COMPARISON_SLICES = 30

const Histogram = Type.Object({
  low: Type.Number({ description: 'Where the first bin begins' }),
  width: Type.Number({
    description: 'Of each bin; a bin holds its lower end and not its upper one',
  }),
  counts: Type.Array(Type.Integer()),
})

/** The models of a deployment side by side, on the newest applicants of the log. */
export const ModelComparison = Type.Object({
  applicants: Type.Integer({
    description: `The newest of the stretch, about ${COMPARED_APPLICANTS_MAX} at the most`,
  }),
  first_at: Type.Union([Timestamp, Type.Null()]),
  last_at: Type.Union([Timestamp, Type.Null()]),
  models: Type.Array(
    Type.Object({
      model_id: Type.String(),
      role: Type.Union([Type.Literal('champion'), Type.Literal('challenger')], {
        description: 'When it scored last',
      }),
      scored: Type.Integer({ description: 'Applicants that it scored, served or not' }),
      served: Type.Integer({ description: 'Applicants that it answered for' }),
      avg_score: NullableNumber,
      avg_pd: NullableNumber,
      p50_latency_ms: Type.Union([Type.Number(), Type.Null()], {
        description: 'Of the requests that it answered; null where there are none',
      }),
      p95_latency_ms: NullableNumber,
      scores: Type.Union([Histogram, Type.Null()], {
        description: 'Of all that it scored; `low` and `width` are the same for all models',
      }),
      served_by_slice: Type.Array(Type.Integer(), {
        description: `Answers in each of ${COMPARISON_SLICES} equal slices from \`first_at\` to \`last_at\``,
      }),
    }),
    { description: 'The newest champion first' },
  ),
  challengers: Type.Array(
    Type.Object({
      challenger_id: Type.String(),
      model_id: Type.String(),
      champion_model_id: Type.String({ description: 'The champion of the same requests' }),
      compared: Type.Integer({ description: 'Applicants that both scored' }),
      failed: Type.Integer({ description: 'Applicants that the challenger gave no score' }),
      avg_difference: Type.Union([Type.Number(), Type.Null()], {
        description: "Challenger's score less champion's",
      }),
      p5_difference: NullableNumber,
      p50_difference: NullableNumber,
      p95_difference: NullableNumber,
      differences: Type.Union([Histogram, Type.Null()]),
      grades: Type.Array(
        Type.Object({
          champion: Type.Union([Type.String(), Type.Null()]),
          challenger: Type.Union([Type.String(), Type.Null()]),
          applicants: Type.Integer(),
        }),
        { description: 'How many applicants the two models gave these grades' },
      ),
    }),
  ),
})
