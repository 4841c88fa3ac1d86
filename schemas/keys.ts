import { Type } from '@sinclair/typebox'
import { Environment, NextCursor, plainText, Timestamp } from './common.ts'

/** Highest quota that a key can be given, in requests per minute. */
export const RATE_LIMIT_PER_MINUTE_MAX = 1_000_000

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
    rate_limit_per_minute: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: RATE_LIMIT_PER_MINUTE_MAX,
        description: "A quota of the key's own; only an owner may set it",
      }),
    ),
  },
  { additionalProperties: false },
)

const KEY_FIELDS = {
  id: Type.String(),
  name: Type.String(),
  prefix: Type.String(),
  scopes: Type.Array(Type.String()),
  environment: Type.Union([Environment, Type.Null()]),
  created_at: Timestamp,
  rate_limit_per_minute: Type.Optional(
    Type.Integer({ description: "The key's own quota; absent: the service's default" }),
  ),
}

export const CreatedKey = Type.Object({
  ...KEY_FIELDS,
  key: Type.String({ description: 'The secret, shown only here' }),
})

export const ListedKey = Type.Object({
  ...KEY_FIELDS,
  last_used_at: Type.Union([Timestamp, Type.Null()], {
    description: 'May lag by a minute; null when never',
  }),
})

export const KeyList = Type.Object({ keys: Type.Array(ListedKey), next_cursor: NextCursor })
