import { Type } from '@sinclair/typebox'
import { Environment, plainText } from './common.ts'

export const CopyModelRequest = Type.Object(
  {
    environment: Environment,
    description: Type.Optional(
      Type.Union([plainText({ charsMin: 0, charsMax: 10_000 }), Type.Null()], {
        description: 'Default: that of the model',
      }),
    ),
    auto_deploy: Type.Optional(
      Type.Boolean({
        description: 'Make the copy the champion of a new deployment; default: false',
      }),
    ),
  },
  { additionalProperties: false },
)
