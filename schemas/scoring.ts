import { Type } from '@sinclair/typebox'
import { ProbabilityOfDefault, Timestamp } from './common.ts'
import { RecordId } from './errors.ts'
import { reasonOptions, reasonsOfApplicant, reasonsOfModel } from './reasons.ts'
import { ModelRole } from './stats.ts'

/** Maximum number of records in a batch; more answer 413. */
export const BATCH_RECORDS_MAX = 1_000

const StrictMode = Type.Optional(
  Type.Boolean({ description: 'Reject missing and unknown features instead of using defaults' }),
)
const IncludeContributions = Type.Optional(
  Type.Boolean({ description: 'Return the points of each feature with each result' }),
)

/** Feature values by name. An unknown variable causes a warning, or an error in strict mode. */
export const Applicant = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'Feature values by name: a number, a text, or null for a missing value',
  },
)

export const BatchRecord = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'Feature values by name, and an optional `id` that the result repeats',
  },
)

export const ScoreRequest = Type.Object({ strict_mode: StrictMode }, { additionalProperties: true })

export const ScoreBatchRequest = Type.Object(
  {
    records: Type.Array(BatchRecord, { maxItems: BATCH_RECORDS_MAX }),
    strict_mode: StrictMode,
    include_contributions: IncludeContributions,
    ...reasonOptions,
  },
  { additionalProperties: false },
)

export const ScorecardScoreRequest = Type.Object(
  {
    scorecard_id: Type.String({ description: '`dep_…`, id of a deployment' }),
    applicant: Applicant,
    strict_mode: StrictMode,
    ...reasonOptions,
  },
  { additionalProperties: false },
)

export const ScorecardBatchRequest = Type.Object(
  {
    scorecard_id: Type.String({ description: '`dep_…`, id of a deployment' }),
    applicants: Type.Array(BatchRecord, { maxItems: BATCH_RECORDS_MAX }),
    strict_mode: StrictMode,
    include_contributions: IncludeContributions,
    ...reasonOptions,
  },
  { additionalProperties: false },
)

/** A value that a bin can match. */
export const FeatureValue = Type.Union([Type.Number(), Type.String()])

export const NoBinMatchWarning = Type.Object({
  type: Type.Literal('no_bin_match'),
  variable: Type.String(),
  value: FeatureValue,
  message: Type.String(),
})

export const UnknownVariableWarning = Type.Object({
  type: Type.Literal('unknown_variable'),
  variable: Type.String(),
  message: Type.String(),
})

export const Warning = Type.Union([
  NoBinMatchWarning,
  UnknownVariableWarning,
  Type.String({
    description:
      "`no_features: the request names none of the model's features` and `repeated_name: <name>` for a name that the JSON says more than once, whose last value counts, before those of values; in batch results also `missing_feature: <name>`, and first of all `ignored_id: …` for an id that is neither a text nor a number up to 2^53 - 1",
  }),
])

const Contributions = Type.Record(Type.String(), Type.Number(), {
  description: 'Points of each feature of the model, in the order of the spec',
})

const scored = {
  score: Type.Number({ description: 'Base points plus the points of all features, not rounded' }),
  risk_grade: Type.Union([Type.String(), Type.Null()], {
    description: 'Grade whose range holds the score; null if none does',
  }),
  pd: ProbabilityOfDefault,
}

export const ShadowScore = Type.Object({
  challenger_id: Type.String({ description: '`ch_…`, id of the entry' }),
  model_id: Type.String({ description: '`mod_…`' }),
  version: Type.String({ description: 'Version of the model' }),
  ...scored,
  missing_features: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Features that the champion does not have and that are absent or null, so that this score is made without them; absent when there are none',
    }),
  ),
})

const ShadowScores = Type.Optional(
  Type.Array(ShadowScore, {
    description: 'In shadow mode: the score of each active challenger, for comparison only',
  }),
)

export const ScoreResult = Type.Object({
  ...scored,
  model_version: Type.String({ description: 'Version of the model that answered' }),
  model_name: Type.String({ description: 'Name of the model that answered' }),
  spec_version: Type.String({ description: 'Version of the form of its specification' }),
  deployment_id: Type.String({ description: '`dep_…`' }),
  contributions: Contributions,
  request_id: Type.String({ description: 'As in `X-Request-Id`; the score is read back by it' }),
  scored_at: Timestamp,
  warnings: Type.Array(Warning, { description: 'Empty if every value met a bin' }),
  shadow_scores: ShadowScores,
  ...reasonsOfApplicant,
  ...reasonsOfModel,
})

export const ScoredRecord = Type.Object({
  id: RecordId,
  ...scored,
  contributions: Type.Optional(Contributions),
  warnings: Type.Array(Warning, { description: 'Empty if every value met a bin' }),
  shadow_scores: ShadowScores,
  ...reasonsOfApplicant,
})

export const ScoreBatchResult = Type.Object({
  results: Type.Array(ScoredRecord, { description: 'In the order of the records' }),
  model_version: Type.String({ description: 'Version of the model that answered' }),
  deployment_id: Type.String({ description: '`dep_…`' }),
  total: Type.Integer({ description: 'Number of results' }),
  scored_at: Timestamp,
  request_id: Type.String({ description: 'As in `X-Request-Id`; the score is read back by it' }),
  ...reasonsOfModel,
})

const scorecardId = Type.Object({
  scorecard_id: Type.String({ description: '`dep_…`, id of the deployment' }),
})

export const ScorecardScoreResult = Type.Composite([scorecardId, ScoreResult])
export const ScorecardBatchResult = Type.Composite([scorecardId, ScoreBatchResult])

export const TriedModel = Type.Object({
  model_id: Type.String({ description: '`mod_…`' }),
  model_name: Type.String(),
  model_version: Type.String(),
  role: ModelRole,
  challenger_id: Type.Union([Type.String(), Type.Null()], { description: 'Null: the champion' }),
  served: Type.Boolean({ description: 'Whether the answer is its result' }),
  ...scored,
  contributions: Contributions,
  missing_features: Type.Optional(
    Type.Array(Type.String(), { description: 'Features that are absent or null' }),
  ),
})

export const TrialResult = Type.Object({
  ...ScoreResult.properties,
  models: Type.Array(TriedModel, { description: 'Every active model, the champion first' }),
  trial: Type.Literal(true, { description: 'Nothing of it is logged or counted' }),
})

/** A JSON Schema itself. */
export const ApplicantSchema = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'A JSON Schema 2020-12 of the body of a single score',
  },
)
