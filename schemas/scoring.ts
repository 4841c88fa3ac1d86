import { Type } from '@sinclair/typebox'
import { Timestamp } from './common.ts'

/** Most records in a batch; one more is 413. */
export const BATCH_RECORDS_MAX = 1_000

const StrictMode = Type.Optional(
  Type.Boolean({ description: 'Refuse missing and unknown features instead of using defaults' }),
)
const IncludeContributions = Type.Optional(Type.Boolean())

/** Feature values by name. What is no feature of the model warns, or violates strict mode. */
export const Applicant = Type.Object(
  {},
  { additionalProperties: true, description: 'Feature values: number, text, or null for missing' },
)

const BatchRecord = Type.Object(
  {},
  { additionalProperties: true, description: 'Feature values, and an `id` that is echoed' },
)

export const ScoreRequest = Type.Object({ strict_mode: StrictMode }, { additionalProperties: true })

export const ScoreBatchRequest = Type.Object(
  {
    records: Type.Array(BatchRecord, { maxItems: BATCH_RECORDS_MAX }),
    strict_mode: StrictMode,
    include_contributions: IncludeContributions,
  },
  { additionalProperties: false },
)

export const ScorecardScoreRequest = Type.Object(
  { scorecard_id: Type.String(), applicant: Applicant, strict_mode: StrictMode },
  { additionalProperties: false },
)

export const ScorecardBatchRequest = Type.Object(
  {
    scorecard_id: Type.String(),
    applicants: Type.Array(BatchRecord, { maxItems: BATCH_RECORDS_MAX }),
    strict_mode: StrictMode,
    include_contributions: IncludeContributions,
  },
  { additionalProperties: false },
)

export const Warning = Type.Union([
  Type.Object({
    type: Type.Literal('no_bin_match'),
    variable: Type.String(),
    value: Type.Union([Type.Number(), Type.String()]),
    message: Type.String(),
  }),
  Type.Object({
    type: Type.Literal('unknown_variable'),
    variable: Type.String(),
    message: Type.String(),
  }),
  Type.String({ description: '`missing_feature: <name>`, in batch results' }),
])

const Contributions = Type.Record(Type.String(), Type.Number(), {
  description: 'Points of each feature of the model, in the order of the spec',
})

const scored = {
  score: Type.Number(),
  risk_grade: Type.Union([Type.String(), Type.Null()]),
  pd: Type.Number({ minimum: 0, maximum: 1, description: 'Probability of default' }),
}

const ShadowScores = Type.Optional(
  Type.Array(
    Type.Object({
      challenger_id: Type.String(),
      model_id: Type.String(),
      version: Type.String(),
      ...scored,
    }),
    { description: 'In shadow mode: what each active challenger says; never the decision' },
  ),
)

export const ScoreResult = Type.Object({
  ...scored,
  model_version: Type.String(),
  model_name: Type.String(),
  spec_version: Type.String(),
  deployment_id: Type.String(),
  contributions: Contributions,
  request_id: Type.String(),
  scored_at: Timestamp,
  warnings: Type.Array(Warning),
  shadow_scores: ShadowScores,
})

export const ScoreBatchResult = Type.Object({
  results: Type.Array(
    Type.Object({
      id: Type.Union([Type.String(), Type.Number(), Type.Null()]),
      ...scored,
      contributions: Type.Optional(Contributions),
      warnings: Type.Array(Warning),
      shadow_scores: ShadowScores,
    }),
  ),
  model_version: Type.String(),
  deployment_id: Type.String(),
  total: Type.Integer(),
  scored_at: Timestamp,
  request_id: Type.String(),
})

const scorecardId = Type.Object({ scorecard_id: Type.String() })

export const ScorecardScoreResult = Type.Composite([scorecardId, ScoreResult])
export const ScorecardBatchResult = Type.Composite([scorecardId, ScoreBatchResult])
