import { Type } from '@sinclair/typebox'
import { listQuery, NextCursor, Timestamp } from './common.ts'

export const AuditLogQuery = listQuery({
  subject: Type.Optional(
    Type.String({
      pattern: '^[0-9A-Za-z_]{1,64}$',
      description: 'Id of the thing that changed: only its records',
    }),
  ),
})

/** What a thing was like: the fields that the change is about, by their names in the contract. */
const Fields = Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])

export const AuditRecord = Type.Object({
  id: Type.String(),
  actor: Type.String({ description: 'Id of the user, or `operator`' }),
  action: Type.String({ description: 'For instance `model.deploy`' }),
  subject: Type.String({ description: 'Id of the thing that changed' }),
  before: Fields,
  after: Fields,
  reason: Type.Union([Type.String(), Type.Null()]),
  created_at: Timestamp,
})

export const AuditLog = Type.Object({
  records: Type.Array(AuditRecord),
  next_cursor: NextCursor,
})
