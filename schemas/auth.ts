import { Type } from '@sinclair/typebox'

/** Seconds that an access token is valid. */
export const ACCESS_TOKEN_LIFE_SEC = 3600

export const EMAIL_CHARS_MAX = 254
/** Looks like an address: text without white space and control characters on both sides of one `@`. */
export const EMAIL_PATTERN =
  '^\\s*[^@\\s\\u0000-\\u001F\\u007F-\\u009F\\uD800-\\uDFFF]+@[^@\\s\\u0000-\\u001F\\u007F-\\u009F\\uD800-\\uDFFF]+\\s*$'
/** Of a password that is set now; sign-in takes shorter ones, which are wrong. */
export const PASSWORD_CHARS_MIN = 8
export const PASSWORD_CHARS_MAX = 1024

export const LoginRequest = Type.Object(
  {
    email: Type.String({ minLength: 1, maxLength: EMAIL_CHARS_MAX }),
    password: Type.String({ minLength: 1, maxLength: PASSWORD_CHARS_MAX }),
  },
  { additionalProperties: false },
)

/** A token that can be none is answered like one that is unknown, so its form is not told here. */
export const RefreshRequest = Type.Object(
  { refresh_token: Type.String({ description: 'As the last login or refresh answered it' }) },
  { additionalProperties: false },
)

export const TokenResult = Type.Object({
  access_token: Type.String(),
  refresh_token: Type.String({ description: 'Replaces the one before; valid for 30 days' }),
  expires_in: Type.Integer({ description: 'Seconds' }),
  token_type: Type.Literal('Bearer'),
})
