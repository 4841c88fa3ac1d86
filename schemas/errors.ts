import { type TSchema, Type } from '@sinclair/typebox'

/** Every code of the error body, and what it tells the caller. */
export const ERROR_CODES = {
  invalid_request:
    'The request is malformed: `details` names what is missing, unknown or mistyped.',
  no_rollback_target: 'The deployment has had one champion only.',
  invalid_api_key: 'No API key that is in force, or one without the scope `score`.',
  unauthorized:
    'No access token that is in force, or no API key with the scope `read` where one is taken.',
  invalid_credentials: 'Unknown email or wrong password.',
  invalid_refresh_token: 'The refresh token is unknown, expired or was used before.',
  insufficient_role: "The caller's role may not do this.",
  deployment_not_found:
    'No deployment of the team has this slug; to scoring an inactive one, or one of the environment that the key is not for, is none.',
  model_not_found: 'No model of the team has this id, or this version.',
  challenger_not_found: 'The deployment has no such active challenger.',
  key_not_found: 'No API key of the team has this id.',
  member_not_found: 'No member of the team has this id.',
  not_found: 'No endpoint has this method and path.',
  model_is_champion: 'The model is the champion of a deployment, so it stays active.',
  member_exists: 'The email is taken.',
  last_owner: 'The team must keep an owner.',
  batch_too_large: 'The batch has more than 1,000 records.',
  payload_too_large: 'The body is larger than this endpoint accepts.',
  unsupported_media_type: 'The body is not declared as JSON.',
  invalid_spec: 'The scorecard specification is faulty: `details` lists every fault with its path.',
  parity_failed:
    'Applicants of the sample would get another score than the tool gave them: `details` lists the first.',
  not_exportable:
    'The model can not be written as it is asked for: `details` lists what stands against it.',
  invalid_scope: 'A scope is none that a key can have.',
  invalid_traffic_config: 'The traffic would not add up, or the action lacks what it needs.',
  strict_mode_violation:
    'In strict mode: `details` lists each missing feature and each unknown variable.',
  rate_limited: 'The quota is used up: wait for `retry_after_ms`.',
  internal_error: 'The service failed.',
  unavailable: "The service can't answer just now: try again after `Retry-After`.",
} as const

export type ErrorCode = keyof typeof ERROR_CODES

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
    error: Type.Unsafe<ErrorCode>(
      Type.String({
        enum: Object.keys(ERROR_CODES),
        description: 'Stable code; the message may change',
      }),
    ),
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
