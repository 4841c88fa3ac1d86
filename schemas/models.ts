import { Type } from '@sinclair/typebox'
import { Environment, listQuery, NextCursor, plainText, Timestamp } from './common.ts'
import { ScorecardSpec } from './spec.ts'

/** The sample that a specification is compared with. */
export const SampleFields = {
  sample: Type.Optional(
    Type.String({
      description:
        'CSV of applicants with the scores of the tool: a column for each feature, `score`, and optionally `<feature>_points`, `pd` and `id`',
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

/** In the order in which they are answered: first what scores alone do not prove. */
const certificate = {
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
      'True if no row differs in score, points or probability of default, as far as it has them',
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
  card_sha256: Type.Union([Type.String(), Type.Null()], {
    description: 'SHA-256 of the card file; null if `tool` is null',
  }),
  sample_sha256: Type.String(),
  spec_sha256: Type.String({ description: 'SHA-256 of the specification as stored' }),
}

/** Proof that a specification gives the same scores as the tool it comes from. */
export const ParityProof = Type.Object(certificate)

/** A stored certificate. Those of earlier versions lack the optional fields. */
export const ParityCertificate = Type.Object({
  ...certificate,
  pd_checked: Type.Optional(certificate.pd_checked),
  pd_fitted: Type.Optional(certificate.pd_fitted),
  pd_rows: Type.Optional(certificate.pd_rows),
  differing_by: Type.Optional(certificate.differing_by),
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

export const DeployResult = Type.Object({
  model_id: Type.String({ description: '`mod_…`' }),
  name: Type.String(),
  version: Type.String(),
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
  spec: ScorecardSpec,
  parity: Type.Optional(ParityCertificate),
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
