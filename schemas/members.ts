import { Type } from '@sinclair/typebox'
import { EMAIL_CHARS_MAX, EMAIL_PATTERN, PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN } from './auth.ts'
import { NextCursor, plainText, Timestamp } from './common.ts'

/** Highest first: members can't grant a role above their own. */
export const MemberRole = Type.Union([
  Type.Literal('owner'),
  Type.Literal('admin'),
  Type.Literal('lead_modeler'),
  Type.Literal('modeler'),
  Type.Literal('auditor'),
  Type.Literal('viewer'),
])

export const CreateMemberRequest = Type.Object(
  {
    email: Type.String({
      maxLength: EMAIL_CHARS_MAX,
      pattern: EMAIL_PATTERN,
      description: 'Stored in lower case without surrounding white space; unique across all teams',
    }),
    password: plainText({ charsMin: PASSWORD_CHARS_MIN, charsMax: PASSWORD_CHARS_MAX }),
    role: MemberRole,
  },
  { additionalProperties: false },
)

export const UpdateMemberRequest = Type.Object(
  { role: MemberRole },
  { additionalProperties: false },
)

export const Member = Type.Object({
  id: Type.String(),
  email: Type.String(),
  role: MemberRole,
  created_at: Timestamp,
  last_sign_in_at: Type.Union([Timestamp, Type.Null()], {
    description: 'Null until the first sign-in',
  }),
})

export const MemberList = Type.Object({ members: Type.Array(Member), next_cursor: NextCursor })
