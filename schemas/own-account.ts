import { Type } from '@sinclair/typebox'
import { PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN } from './auth.ts'
import { NextCursor, plainText, Timestamp } from './common.ts'

export const ChangePasswordRequest = Type.Object(
  {
    current_password: Type.String({ minLength: 1, maxLength: PASSWORD_CHARS_MAX }),
    new_password: plainText({ charsMin: PASSWORD_CHARS_MIN, charsMax: PASSWORD_CHARS_MAX }),
  },
  { additionalProperties: false },
)

export const Session = Type.Object({
  id: Type.String(),
  started_at: Timestamp,
  last_refreshed_at: Timestamp,
  expires_at: Type.String({
    format: 'date-time',
    description: 'When it ends if it is not refreshed until then',
  }),
  is_current: Type.Boolean({ description: 'Whether the access token of the request is from it' }),
})

export const SessionList = Type.Object({
  sessions: Type.Array(Session),
  next_cursor: NextCursor,
})
