import { Type } from '@sinclair/typebox'
import { Environment, plainText, Timestamp } from './common.ts'

export const CreateKeyRequest = Type.Object(
  {
    name: plainText({ charsMax: 255 }),
    scopes: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 100,
        description: '`score` and `read`; `[score]` when left out',
      }),
    ),
    environment: Type.Optional(Environment),
  },
  { additionalProperties: false },
)

export const CreatedKey = Type.Object({
  id: Type.String(),
  name: Type.String(),
  key: Type.String({ description: 'The secret, shown only here' }),
  prefix: Type.String(),
  scopes: Type.Array(Type.String()),
  environment: Type.Union([Environment, Type.Null()]),
  created_at: Timestamp,
})
