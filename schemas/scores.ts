import { Type } from '@sinclair/typebox'
import { NextCursor, ProbabilityOfDefault, Timestamp } from './common.ts'
import { RecordId } from './errors.ts'
import { ID_PATTERN } from './patterns.ts'
import { BATCH_RECORDS_MAX } from './scoring.ts'
import { ModelRole } from './stats.ts'

/** Default number of a batch's records in a response. */
export const SCORE_RECORDS_DEFAULT = 100
/** Default number of scores in a list. */
export const SCORES_DEFAULT = 100
/** A record's id can be longer; the rest of the URL needs room, too. */
export const REFERENCE_CHARS_MAX = 4_096
/** A reference in a body can be nearly as long as the longest record id. */
export const ERASED_CHARS_MAX = 1_000_000

const Cursor = Type.Optional(
  Type.String({
    pattern: ID_PATTERN,
    description: '`next_cursor` of the previous page',
  }),
)

export const ScoreQuery = Type.Object(
  {
    record: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Index of one record of a batch, from 0; then only this record is returned',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: BATCH_RECORDS_MAX,
        description: `Maximum number of records in the response; default: ${SCORE_RECORDS_DEFAULT}`,
      }),
    ),
    cursor: Cursor,
  },
  { additionalProperties: false },
)

export const ReferenceMatch = Type.Unsafe<'whole' | 'part'>(
  Type.String({
    enum: ['whole', 'part'],
    description:
      '`whole`: the reference as it is; the default. `part`: references that contain it, in any case',
  }),
)

export const ScoresQuery = Type.Object(
  {
    reference: Type.String({
      minLength: 1,
      maxLength: REFERENCE_CHARS_MAX,
      description:
        'The `X-Reference-Id` of a single request, or the `id` of a record of a batch; a number is compared as text',
    }),
    match: Type.Optional(ReferenceMatch),
    deployment: Type.Optional(
      Type.String({ description: 'Only scores of the deployment with this slug' }),
    ),
    from: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'ISO 8601 with a time zone; earlier scores do not count',
      }),
    ),
    to: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'ISO 8601 with a time zone; scores at this time or later do not count',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: BATCH_RECORDS_MAX,
        description: `Maximum number of scores in the response; default: ${SCORES_DEFAULT}`,
      }),
    ),
    cursor: Cursor,
  },
  { additionalProperties: false },
)

/** What became of an applicant's value for a feature. */
export const FEATURE_OUTCOMES = [
  'matched',
  'missing',
  'unseen_category',
  'no_bin',
  'not_a_number',
] as const

export const FeatureOutcome = Type.Unsafe<(typeof FEATURE_OUTCOMES)[number]>(
  Type.String({
    enum: [...FEATURE_OUTCOMES],
    description:
      '`matched`: a bin matched the value. `missing`: the value was absent or null. `unseen_category`: no bin has this category. `no_bin`: the number lies between the bins. `not_a_number`: a text for a numeric feature',
  }),
)

export const LoggedBin = Type.Object({
  index: Type.Integer({ description: "Index in the `bins` of the feature in the model's spec" }),
  range: Type.Optional(Type.String({ description: 'The bin of a numeric feature' })),
  value: Type.Optional(Type.String({ description: 'The bin of a categorical feature' })),
  label: Type.Optional(Type.String({ description: 'The label of the bin in the spec, if any' })),
})

export const LoggedFeature = Type.Object({
  name: Type.String(),
  points: Type.Number({ description: 'Points that the feature added to the score' }),
  outcome: FeatureOutcome,
  bin: Type.Union([LoggedBin, Type.Null()], {
    description:
      'The bin that gave the points. A missing value, and an unseen category that takes its points, have the Missing bin, if there is one',
  }),
})

const NullableNumber = Type.Union([Type.Number(), Type.Null()])

export const LoggedResult = Type.Object({
  model_id: Type.String(),
  model_name: Type.String(),
  model_version: Type.String(),
  spec_sha256: Type.String({
    description: "SHA-256 of the model's spec, in hex, as `GET /v1/models/{id}/export` returns it",
  }),
  role: ModelRole,
  challenger_id: Type.Union([Type.String(), Type.Null()]),
  served: Type.Boolean({ description: 'Whether this model gave the answer' }),
  score: Type.Union([Type.Number(), Type.Null()], {
    description: 'Null if the challenger failed to score the applicant',
  }),
  risk_grade: Type.Union([Type.String(), Type.Null()]),
  pd: ProbabilityOfDefault,
  base_points: NullableNumber,
  features: Type.Array(LoggedFeature, {
    description:
      'In the order of the spec. `base_points` plus their points, added in this order, is the score; empty if the challenger failed',
  }),
})

export const LoggedRecord = Type.Object({
  index: Type.Integer({ description: 'Position in the batch, from 0' }),
  id: RecordId,
  results: Type.Array(LoggedResult, {
    description: 'One for each model that scored it, the champion first',
  }),
})

/** A score as it was answered, with all that made it. */
export const LoggedScore = Type.Object({
  request_id: Type.String({ description: 'Id of the scoring request' }),
  deployment_id: Type.String(),
  scored_at: Timestamp,
  latency_ms: Type.Number({
    description: "Time from the request's headers to its response; for a batch, of all records",
  }),
  key_id: Type.String({ description: 'The API key that asked' }),
  cache_version: Type.Integer({ description: 'State of the deployment that answered' }),
  bucket: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Bucket that chose the model in a live split; otherwise null',
  }),
  reference: Type.Union([Type.String(), Type.Null()], {
    description: '`X-Reference-Id` of a single request; null without one, and for a batch',
  }),
  is_batch: Type.Boolean({ description: 'Whether the request was a batch' }),
  total: Type.Integer({ description: 'Number of records in the request; 1 unless it is a batch' }),
  records: Type.Array(LoggedRecord),
  next_cursor: NextCursor,
})

export const FoundScore = Type.Object({
  request_id: Type.String(),
  record_index: Type.Integer(),
  deployment_id: Type.String(),
  scored_at: Timestamp,
  score: NullableNumber,
  risk_grade: Type.Union([Type.String(), Type.Null()]),
  pd: ProbabilityOfDefault,
  model_version: Type.String(),
  reference: Type.String(),
})

export const FoundScores = Type.Object({
  scores: Type.Array(FoundScore, {
    description: 'Newest first: one for each applicant, from the model that answered',
  }),
  next_cursor: NextCursor,
})

export const LogErasureBody = Type.Object(
  {
    reference: Type.String({
      minLength: 1,
      maxLength: ERASED_CHARS_MAX,
      description:
        'The `X-Reference-Id` of single requests, or the `id` of records of batches; a number as text',
    }),
  },
  { additionalProperties: false },
)

export const LogErasure = Type.Object({
  reference_sha256: Type.String({
    description: 'SHA-256 in hex of the team id, a space and the reference, as in the audit log',
  }),
  places: Type.Integer({
    description: 'Number of references and record ids that were taken out of the database',
  }),
  requests: Type.Integer({ description: 'Number of requests that held them' }),
  covers_until: Timestamp,
})

export const LOG_EXPORT_FORMATS = ['ndjson', 'csv', 'parquet'] as const

export const LogExportFormat = Type.Unsafe<(typeof LOG_EXPORT_FORMATS)[number]>(
  Type.String({ enum: [...LOG_EXPORT_FORMATS], description: '`ndjson` when left out' }),
)

/** Scores of a page of the log. */
export const LOG_PAGE = { default: 1_000, max: 10_000 } as const

export const LogExportQuery = Type.Object(
  {
    format: Type.Optional(LogExportFormat),
    after: Type.Optional(
      Type.String({
        description:
          'Position in the log: `0`, or `X-Next-Position` of the page before. The answer is the next page; `from` and `to` do not go with it',
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LOG_PAGE.max,
        description: `With \`after\`: scores that the page looks at, at most; ${LOG_PAGE.default} when left out`,
      }),
    ),
    deployment: Type.Optional(
      Type.String({ description: 'Only scores of the deployment with this slug' }),
    ),
    from: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'ISO 8601 with a time zone; earlier scores are left out',
      }),
    ),
    to: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'ISO 8601 with a time zone; scores at this time or later are left out',
      }),
    ),
  },
  { additionalProperties: false },
)
