import { Type } from '@sinclair/typebox'
import { Environment, NextCursor, plainText, Timestamp } from './common.ts'

/** Maximum quota of a key, in requests per minute. */
export const RATE_LIMIT_PER_MINUTE_MAX = 1_000_000

export const KEY_SCOPES = ['score', 'read'] as const

export const KeyScope = Type.Unsafe<(typeof KEY_SCOPES)[number]>(
  Type.String({ enum: [...KEY_SCOPES], description: 'Permission of a key' }),
)

/** Overlap of an old secret with a new one when a rotation names none: an hour. */
export const OVERLAP_SECONDS = 3_600
/** Longest overlap of an old secret with a new one: a week. */
export const OVERLAP_SECONDS_MAX = 604_800
/** Longest time until a key with an end ends: ten years. */
export const KEY_LIFE_DAYS_MAX = 3_653
/** Most entries of a key's `allowed_addresses`. */
export const ALLOWED_ADDRESSES_MAX = 100
const CIDR_CHARS_MAX = 43

/** How long an old secret stays valid beside the new one. */
export const OverlapSeconds = Type.Integer({
  minimum: 0,
  maximum: OVERLAP_SECONDS_MAX,
  description: `How long the old secret stays valid; default: ${OVERLAP_SECONDS}; 0 ends it at once`,
})

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
    expires_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'A moment ahead, at most ten years; default: the key does not end',
      }),
    ),
    allowed_addresses: Type.Optional(
      Type.Array(Type.String({ maxLength: CIDR_CHARS_MAX }), {
        minItems: 1,
        maxItems: ALLOWED_ADDRESSES_MAX,
        description:
          'Addresses and CIDRs from which the key is accepted; default: from any address',
      }),
    ),
  },
  { additionalProperties: false },
)

export const UpdateKeyRequest = Type.Object(
  {
    name: Type.Optional(plainText({ charsMax: 255 })),
    rate_limit_per_minute: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1, maximum: RATE_LIMIT_PER_MINUTE_MAX }), Type.Null()], {
        description:
          'Quota of this key; null: the default of the service. Only an owner may set it',
      }),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
)

export const RotateKeyRequest = Type.Object(
  {
    overlap_seconds: Type.Optional(OverlapSeconds),
    expires_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'A new end; default: unchanged' }),
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
  created_by: Type.String({
    description: 'Id of the user or service account that made it, or `operator`',
  }),
  created_at: Timestamp,
  expires_at: Type.Union([Timestamp, Type.Null()], { description: 'Null: it does not end' }),
  allowed_addresses: Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: 'Addresses and CIDRs from which the key is accepted; null: from any address',
  }),
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

export const RotatedKey = Type.Object({
  ...CreatedKey.properties,
  previous_valid_until: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Until when the old secret is accepted; absent if it no longer is',
    }),
  ),
})

export const ListedKey = Type.Object({
  ...KEY_FIELDS,
  last_used_at: Type.Union([Timestamp, Type.Null()], {
    description: 'Up to a minute late; null if the key was never used',
  }),
})

export const KeyList = Type.Object({ keys: Type.Array(ListedKey), next_cursor: NextCursor })
