import { type TSchema, Type } from '@sinclair/typebox'

export const ErrorDetail = Type.Object({
  path: Type.String({
    description: 'Where in the request, for instance `features[3].bins[1].range`',
  }),
  message: Type.String(),
  index: Type.Optional(Type.Integer({ description: 'In a batch: position of the record, from 0' })),
  id: Type.Optional(Type.Union([Type.String(), Type.Number(), Type.Null()])),
})

export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'Stable code; the message may change' }),
    message: Type.String(),
    request_id: Type.String(),
    details: Type.Optional(Type.Array(ErrorDetail)),
    retry_after_ms: Type.Optional(
      Type.Integer({ minimum: 1, description: 'With `rate_limited`: milliseconds to wait' }),
    ),
  },
  { description: 'Why the request was not carried out' },
)

/** The error body for each of the statuses that a route answers beside its success. */
export function errorResponses<Status extends number>(
  ...statuses: readonly Status[]
): Record<Status | 429 | 500 | 503, TSchema> {
  const entries = [...statuses, 429, 500, 503].map((status) => [status, ErrorBody])
  return Object.fromEntries(entries) as Record<Status | 429 | 500 | 503, TSchema>
}
