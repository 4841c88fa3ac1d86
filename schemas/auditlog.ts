import { Type } from '@sinclair/typebox'
import { listQuery, NextCursor, Timestamp } from './common.ts'
import { ACTION_PATTERN, ID_PATTERN } from './patterns.ts'

const Moment = Type.String({
  format: 'date-time',
  description: 'ISO 8601 with a time zone: from the first, and before the second',
})
const AUDIT_KINDS = ['changes', 'reads', 'all'] as const

export const AuditKind = Type.Unsafe<(typeof AUDIT_KINDS)[number]>(
  Type.String({
    enum: [...AUDIT_KINDS],
    description:
      '`reads`: reads of single applicants and exports; `changes`: everything else. Default: `changes`',
  }),
)

export const AuditLogQuery = listQuery({
  subject: Type.Optional(
    Type.String({
      pattern: ID_PATTERN,
      description: 'Only records of the object with this id',
    }),
  ),
  actor: Type.Optional(
    Type.String({ pattern: ID_PATTERN, description: 'Only what this user, key or account did' }),
  ),
  action: Type.Optional(
    Type.String({
      pattern: ACTION_PATTERN,
      description: 'Only this action, such as `deployment.promote`; `deployment.` for all of them',
    }),
  ),
  from: Type.Optional(Moment),
  to: Type.Optional(Moment),
  kind: Type.Optional(AuditKind),
})

export const AuditExportQuery = Type.Object(
  {
    after: Type.Optional(
      Type.String({
        pattern: ID_PATTERN,
        description: 'Id of the last record that is known; without it, from the first record',
      }),
    ),
  },
  { additionalProperties: false },
)

/** State of the changed object: the fields that the change concerns, by their names in the API. */
const Fields = Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])

export const AuditRecord = Type.Object({
  id: Type.String(),
  actor: Type.String({
    description: 'Id of the user, service account or key; or `operator`, or `anonymous`',
  }),
  action: Type.String({ description: 'For example `model.deploy`' }),
  subject: Type.String({ description: 'Id of the changed object' }),
  before: Fields,
  after: Fields,
  reason: Type.Union([Type.String(), Type.Null()]),
  created_at: Timestamp,
})

export const AuditLog = Type.Object({
  records: Type.Array(AuditRecord),
  next_cursor: NextCursor,
})
