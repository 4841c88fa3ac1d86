import { Type } from '@sinclair/typebox'
import { Environment, NextCursor, plainText, Timestamp } from './common.ts'

/** Maximum quota of a key, in requests per minute. */
export const RATE_LIMIT_PER_MINUTE_MAX = 1_000_000

export const KEY_SCOPES = ['score', 'read'] as const

export const KeyScope = Type.Unsafe<(typeof KEY_SCOPES)[number]>(
  Type.String({ enum: [...KEY_SCOPES], description: 'Permission of a key' }),
)

/** The schema accepts any text as a scope: the service answers 422 `invalid_scope`. */
export const CreateKeyRequest = Type.Object(
  {
    name: plainText({ charsMax: 255 }),
    scopes: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 100,
        description: 'Any of `score` and `read`; default: `[score]`',
      }),
    ),
    environment: Type.Optional(Environment),
    rate_limit_per_minute: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: RATE_LIMIT_PER_MINUTE_MAX,
        description: 'Quota of this key; only an owner may set it',
      }),
    ),
  },
  { additionalProperties: false },
)

const KEY_FIELDS = {
  id: Type.String(),
  name: Type.String(),
  prefix: Type.String(),
  scopes: Type.Array(KeyScope),
  environment: Type.Union([Environment, Type.Null()]),
  created_at: Timestamp,
  rate_limit_per_minute: Type.Optional(
    Type.Integer({
      description: 'Quota of this key; absent if the default of the service applies',
    }),
  ),
}

export const CreatedKey = Type.Object({
  ...KEY_FIELDS,
  key: Type.String({ description: 'The secret; no other response contains it' }),
})

export const ListedKey = Type.Object({
  ...KEY_FIELDS,
  last_used_at: Type.Union([Timestamp, Type.Null()], {
    description: 'Up to a minute late; null if the key was never used',
  }),
})

export const KeyList = Type.Object({ keys: Type.Array(ListedKey), next_cursor: NextCursor })
