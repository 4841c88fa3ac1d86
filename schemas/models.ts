import { Type } from '@sinclair/typebox'
import { Environment, listQuery, NextCursor, plainText, Timestamp } from './common.ts'
import { ScorecardSpec } from './spec.ts'

export const DeployRequest = Type.Object(
  {
    spec: Type.Optional(
      Type.Unknown({
        description: 'A scorecard specification; absent or faulty: 422 invalid_spec',
      }),
    ),
    environment: Environment,
    description: Type.Optional(
      Type.Union([plainText({ charsMin: 0, charsMax: 10_000 }), Type.Null()]),
    ),
    auto_deploy: Type.Boolean({ description: 'Put the model behind a new deployment' }),
  },
  { additionalProperties: false },
)

export const SpecWarning = Type.Object({ path: Type.String(), message: Type.String() })

export const DeployResult = Type.Object({
  model_id: Type.String(),
  name: Type.String(),
  version: Type.String(),
  deployment: Type.Union([
    Type.Object({
      id: Type.String(),
      slug: Type.String(),
      endpoint: Type.String({ description: 'URL that scores against this deployment' }),
      status: Type.Literal('active'),
    }),
    Type.Null(),
  ]),
  spec_warnings: Type.Optional(Type.Array(SpecWarning)),
})

export const ModelStatus = Type.Union([Type.Literal('active'), Type.Literal('archived')], {
  description: 'An archived model can not become a challenger',
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

/** Proof that an imported card scores as the tool that it comes from. */
export const ParityCertificate = Type.Object({
  tool: Type.String(),
  agrees: Type.Boolean({
    description:
      'No row differs in its score, nor in points or probability of default where it has them',
  }),
  rows: Type.Integer(),
  equal: Type.Integer({ description: 'Rows that agree, and whose scores are the same to the bit' }),
  within_rounding: Type.Integer({
    description:
      'Further rows that differ by no more than the order of a sum of doubles can change',
  }),
  within_tolerance: Type.Integer({ description: 'Further rows within `tolerance`' }),
  differing: Type.Integer(),
  largest_difference: Type.Number({ description: 'Of scores, in points' }),
  tolerance: Type.Number({ description: 'In points' }),
  compared_features: Type.Integer({ description: 'Features compared by their own points' }),
  largest_pd_difference: Type.Union([Type.Number(), Type.Null()], {
    description: 'Of probabilities of default, where the sample has them',
  }),
  card_sha256: Type.String(),
  sample_sha256: Type.String(),
  spec_sha256: Type.String({ description: 'Of the specification as it is stored' }),
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
