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
