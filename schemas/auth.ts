import { Type } from '@sinclair/typebox'

/** Lifetime of an access token in seconds. */
export const ACCESS_TOKEN_LIFE_SEC = 3600

export const EMAIL_CHARS_MAX = 254
/** One `@` between two texts without white space and control characters; outer space is allowed. */
export const EMAIL_PATTERN =
  '^\\s*[^@\\s\\u0000-\\u001F\\u007F-\\u009F\\uD800-\\uDFFF]+@[^@\\s\\u0000-\\u001F\\u007F-\\u009F\\uD800-\\uDFFF]+\\s*$'
/** Length of a new password. Sign-in accepts shorter ones and answers that they are wrong. */
export const PASSWORD_CHARS_MIN = 8
export const PASSWORD_CHARS_MAX = 1024

export const LoginRequest = Type.Object(
  {
    email: Type.String({ minLength: 1, maxLength: EMAIL_CHARS_MAX }),
    password: Type.String({ minLength: 1, maxLength: PASSWORD_CHARS_MAX }),
  },
  { additionalProperties: false },
)

/** The schema gives no pattern: a malformed token gets the same answer as an unknown one. */
export const RefreshRequest = Type.Object(
  {
    refresh_token: Type.String({ description: 'The one that the last login or refresh returned' }),
  },
  { additionalProperties: false },
)

export const TokenResult = Type.Object({
  access_token: Type.String(),
  refresh_token: Type.String({ description: 'Replaces the previous one; valid for 30 days' }),
  expires_in: Type.Integer({ description: 'Seconds' }),
  token_type: Type.Literal('Bearer'),
})
