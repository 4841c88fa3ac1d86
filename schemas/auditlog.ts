import { Type } from '@sinclair/typebox'
import { listQuery, NextCursor, Timestamp } from './common.ts'

export const AuditLogQuery = listQuery({
  subject: Type.Optional(
    Type.String({
      pattern: '^[0-9A-Za-z_]{1,64}$',
      description: 'Only records of the object with this id',
    }),
  ),
})

export const AuditExportQuery = Type.Object(
  {
    after: Type.Optional(
      Type.String({
        pattern: '^[0-9A-Za-z_]{1,64}$',
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
