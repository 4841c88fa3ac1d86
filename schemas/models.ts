import { Type } from '@sinclair/typebox'
import { Environment, plainText } from './common.ts'

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
