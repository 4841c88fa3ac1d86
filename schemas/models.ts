import { Type } from '@sinclair/typebox'
import { Environment, listQuery, NextCursor, plainText, Timestamp } from './common.ts'
import { ScorecardSpec } from './spec.ts'

/** The sample that a specification is compared with. */
export const SampleFields = {
  sample: Type.Optional(
    Type.String({
      description:
        'Applicants with the scores of the tool, as CSV or as lines of JSON (NDJSON): a column for each feature, `score`, and optionally `<feature>_points`, `pd` and `id`. Lines of JSON are objects, or arrays after a first one with the names; their values are those of a request to score, so that an empty text is a category; in CSV an empty cell is missing, and a number is the category that is the same number (`2.0` is `2`)',
    }),
  ),
  score_column: Type.Optional(
    Type.String({ description: 'Column with the scores; default: `score`' }),
  ),
  tolerance: Type.Optional(
    Type.Number({
      minimum: 0,
      description:
        'Permitted difference in points, for samples with rounded scores; at most half a point for each feature and for the base',
    }),
  ),
}

export const CheckId = Type.Optional(
  Type.String({
    description:
      'Id of a check, `job_…`, that has compared this very specification with a sample: in place of `sample`',
  }),
)

export const AcceptUnreached = Type.Optional(
  Type.Boolean({
    description:
      'Registers the model although no applicant of `sample` reaches some of its bins, whose points are then proved by nothing; without it that is 422 `parity_failed`',
  }),
)

export const DeployRequest = Type.Object(
  {
    spec: Type.Optional(
      Type.Unknown({
        description: 'Scorecard specification; 422 `invalid_spec` if it is absent or invalid',
      }),
    ),
    environment: Environment,
    description: Type.Optional(
      Type.Union([plainText({ charsMin: 0, charsMax: 10_000 }), Type.Null()]),
    ),
    auto_deploy: Type.Boolean({ description: 'Make the model the champion of a new deployment' }),
    ...SampleFields,
    check_id: CheckId,
    accept_unreached: AcceptUnreached,
  },
  { additionalProperties: false },
)

export const SpecWarning = Type.Object({ path: Type.String(), message: Type.String() })

/** Number of rows that differ in each value; a row can count more than once. */
export const DifferingBy = Type.Object({
  score: Type.Integer(),
  points: Type.Integer(),
  pd: Type.Integer(),
})

export const ScalePoint = Type.Object({
  base_score: Type.Number(),
  base_odds: Type.Number({ description: 'Good to bad' }),
  pdo: Type.Number(),
})

/** The parts of a feature that no row of a sample reached. */
export const UnreachedOutcome = Type.Unsafe<'missing' | 'unseen_category'>(
  Type.String({ enum: ['missing', 'unseen_category'] }),
)

export const UnreachedFeature = Type.Object({
  feature: Type.String(),
  bins: Type.Array(Type.String(), { description: 'Labels of bins, at most 20' }),
  more_bins: Type.Integer({ description: 'How many more there are' }),
  edges: Type.Array(Type.Number(), {
    description: 'Bounds of bins that no value equals, at most 20',
  }),
  more_edges: Type.Integer(),
  outcomes: Type.Array(UnreachedOutcome, { description: 'Outcomes that no value had' }),
})

export const ParityMeans = Type.Object({ sample: Type.Number(), engine: Type.Number() })

export const ParityScale = Type.Object({
  given: ScalePoint,
  fitted: Type.Union([ScalePoint, Type.Null()], {
    description: 'The scale that scores and `pd` of the sample show, at the odds of `given`',
  }),
  mean_points: Type.Number({
    description:
      "Mean of the scores that the sample's `pd` stand for minus those of the engine, in points",
  }),
})

/** In the order in which they are answered: first what scores alone do not prove. */
/** Proof that a specification gives the same scores as the tool it comes from. */
export const ParityProof = Type.Object({
  pd_checked: Type.Boolean({
    description: 'True if every row has a `pd` that was compared: scores alone do not prove it',
  }),
  pd_fitted: Type.Boolean({
    description:
      'True if the import fitted the scale to the `pd` of this very sample: only another sample can then prove probabilities',
  }),
  pd_rows: Type.Integer({ description: 'Rows whose `pd` was compared' }),
  tool: Type.Union([Type.String(), Type.Null()], {
    description: 'Null if a specification was compared instead of the card of a tool',
  }),
  agrees: Type.Boolean({
    description:
      'True if no row differs in score, points or probability of default, as far as it has them, and the means of rounded scores are no further off than rounding explains',
  }),
  rows: Type.Integer(),
  equal: Type.Integer({ description: 'Rows that agree and whose scores are bit-identical' }),
  within_rounding: Type.Integer({
    description:
      'Further rows whose difference is within the rounding error of floating-point addition',
  }),
  within_tolerance: Type.Integer({ description: 'Further rows within `tolerance`' }),
  differing: Type.Integer(),
  differing_by: DifferingBy,
  largest_difference: Type.Number({ description: 'Largest difference of scores, in points' }),
  tolerance: Type.Number({ description: 'In points' }),
  compared_features: Type.Integer({ description: 'Number of features whose points were compared' }),
  largest_pd_difference: Type.Union([Type.Number(), Type.Null()], {
    description: 'Largest difference of probabilities of default; null if none was compared',
  }),
  mean_difference: Type.Number({
    description: "Mean of the engine's scores minus those of the sample, in points",
  }),
  mean_difference_max: Type.Union([Type.Number(), Type.Null()], {
    description:
      'Largest mean that the rounding of points explains: a larger one does not agree, though each row does. Null where nothing was rounded',
  }),
  mean_pd: Type.Union([ParityMeans, Type.Null()], {
    description: 'Mean probability of default of the rows that have one',
  }),
  scale: Type.Union([ParityScale, Type.Null()], {
    description: 'For a card whose points are whole numbers, compared by `pd`; else null',
  }),
  bins: Type.Integer({ description: 'Bins of the card' }),
  bins_unreached: Type.Integer({
    description: 'Bins that no row reached, so that nothing proves their points',
  }),
  unreached: Type.Array(UnreachedFeature, {
    description: 'Features of which the sample left something unreached; 1,000 parts in all',
  }),
  card_sha256: Type.Union([Type.String(), Type.Null()], {
    description: 'SHA-256 of the card file; null if `tool` is null',
  }),
  sample_sha256: Type.String(),
  spec_sha256: Type.String({ description: 'SHA-256 of the specification as stored' }),
})

/** The new deployment of a deployed model. */
export const DeployedEndpoint = Type.Object({
  id: Type.String({ description: '`dep_…`' }),
  slug: Type.String({
    description: 'Path parameter of scoring and management; the same as the id',
  }),
  endpoint: Type.String({ description: 'Scoring URL of this deployment' }),
  status: Type.Literal('active', { description: 'It scores from now on' }),
})

const SpecSha256 = Type.String({
  description:
    'SHA-256 of the specification as stored, in hex: `GET /v1/models/{id}/export?format=spec` piped into `sha256sum` gives it',
})

export const DeployResult = Type.Object({
  model_id: Type.String({ description: '`mod_…`' }),
  name: Type.String(),
  version: Type.String(),
  spec_sha256: SpecSha256,
  deployment: Type.Union([DeployedEndpoint, Type.Null()], {
    description: 'Null without `auto_deploy`',
  }),
  spec_warnings: Type.Optional(
    Type.Array(SpecWarning, {
      description: 'Holes between bins, and features without a Missing bin',
    }),
  ),
  parity: Type.Optional(ParityProof),
})

export const ModelStatus = Type.Union([Type.Literal('active'), Type.Literal('archived')], {
  description: "An archived model can't become a challenger",
})

const model = {
  id: Type.String(),
  name: Type.String(),
  version: Type.String(),
  spec_version: Type.String(),
  status: ModelStatus,
  environment: Environment,
  description: Type.Union([Type.String(), Type.Null()]),
  deployed_by: Type.String({ description: 'Id of the user who deployed it' }),
  created_at: Timestamp,
}

export const ListedModel = Type.Object(model)

export const ModelsQuery = listQuery({
  environment: Type.Optional(Environment),
  status: Type.Optional(ModelStatus),
})

export const ModelList = Type.Object({
  models: Type.Array(ListedModel),
  next_cursor: NextCursor,
})

export const Model = Type.Object({
  ...model,
  spec_sha256: SpecSha256,
  spec: ScorecardSpec,
  parity: Type.Optional(ParityProof),
})

export const UpdateModelRequest = Type.Object(
  { status: ModelStatus },
  { additionalProperties: false },
)

export const UpdatedModel = Type.Object({
  id: Type.String(),
  name: Type.String(),
  version: Type.String(),
  status: ModelStatus,
  updated_at: Timestamp,
})
