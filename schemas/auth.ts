import { Type } from '@sinclair/typebox'

/** Seconds that an access token is valid. */
export const ACCESS_TOKEN_LIFE_SEC = 3600

export const LoginRequest = Type.Object(
  {
    email: Type.String({ minLength: 1, maxLength: 254 }),
    password: Type.String({ minLength: 1, maxLength: 1024 }),
  },
  { additionalProperties: false },
)

export const TokenResult = Type.Object({
  access_token: Type.String(),
  refresh_token: Type.String(),
  expires_in: Type.Integer({ description: 'Seconds' }),
  token_type: Type.Literal('Bearer'),
})
