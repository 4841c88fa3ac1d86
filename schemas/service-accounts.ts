import { Type } from '@sinclair/typebox'
import { NextCursor, plainText, Timestamp } from './common.ts'
import { OverlapSeconds } from './keys.ts'
import { MemberRole } from './members.ts'

/** Longest life of a service account's token. */
export const ACCOUNT_LIFE_DAYS_MAX = 366
/** Life of a token when the request names none. */
export const ACCOUNT_LIFE_DAYS = 90

const ExpiresAt = Type.String({
  format: 'date-time',
  description: `A moment ahead, at most ${ACCOUNT_LIFE_DAYS_MAX} days`,
})

export const CreateServiceAccountRequest = Type.Object(
  {
    name: plainText({ charsMax: 255 }),
    role: MemberRole,
    expires_at: Type.Optional(
      Type.String({
        ...ExpiresAt,
        description: `${ExpiresAt.description}; default: ${ACCOUNT_LIFE_DAYS} days ahead`,
      }),
    ),
  },
  { additionalProperties: false },
)

export const RotateServiceAccountRequest = Type.Object(
  {
    overlap_seconds: Type.Optional(OverlapSeconds),
    expires_at: Type.Optional(
      Type.String({ ...ExpiresAt, description: `${ExpiresAt.description}; default: unchanged` }),
    ),
  },
  { additionalProperties: false },
)

const ACCOUNT_FIELDS = {
  id: Type.String(),
  name: Type.String(),
  role: MemberRole,
  prefix: Type.String({ description: 'First characters of the token' }),
  created_by: Type.String({ description: 'Id of the user or service account that made it' }),
  created_at: Timestamp,
  expires_at: Timestamp,
}

export const IssuedServiceAccount = Type.Object({
  ...ACCOUNT_FIELDS,
  token: Type.String({ description: 'The secret; no other response contains it' }),
  previous_valid_until: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'Until when the old secret is accepted; absent if it no longer is',
    }),
  ),
})

export const ListedServiceAccount = Type.Object({
  ...ACCOUNT_FIELDS,
  last_used_at: Type.Union([Timestamp, Type.Null()], {
    description: 'Up to a minute late; null if the token was never used',
  }),
})

export const ServiceAccountList = Type.Object({
  service_accounts: Type.Array(ListedServiceAccount),
  next_cursor: NextCursor,
})
