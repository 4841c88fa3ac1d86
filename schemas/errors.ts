import { type TSchema, Type } from '@sinclair/typebox'

/** Every error code and its public description. */
export const ERROR_CODES = {
  invalid_request:
    'The request is malformed: `details` names what is missing, unknown or of the wrong type.',
  no_rollback_target: 'The deployment has had only one champion.',
  invalid_api_key: 'The API key is missing, unknown or revoked, or lacks the scope `score`.',
  unauthorized:
    'The access token is missing, expired or invalid; where API keys are accepted, the key is invalid or lacks the scope `read`.',
  invalid_credentials: 'Unknown email or wrong password.',
  invalid_refresh_token: 'The refresh token is unknown, expired or was used before.',
  sign_on_refused: 'The single sign-on is refused: `details` names the reason.',
  insufficient_role: "The caller's role does not permit this.",
  own_change_request:
    "Who asked for a change, has their role from whoever asked, or has it only since then, can't decide on it, and no service account can: another owner or admin has to.",
  deployment_not_found:
    'No deployment of the team has this slug. Scoring does not find inactive deployments and those outside the environment of the key.',
  model_not_found: 'No model of the team has this id or version.',
  challenger_not_found: 'The deployment has no such active challenger.',
  key_not_found: 'No API key of the team has this id.',
  service_account_not_found: 'No service account of the team has this id.',
  session_not_found: 'The user has no open session with this id.',
  member_not_found: 'No member of the team has this id.',
  baseline_not_found: 'The deployment has no reason baseline with this id.',
  score_not_found:
    'The score log has no such request of the team, or the batch has no such record.',
  job_not_found: 'The team has no such job: a job is kept for a week after its end.',
  definition_not_found: 'The team has no definition of outcomes with this id.',
  import_not_found: 'The team has no import of outcomes with this id.',
  batch_not_found:
    'The team has no batch with this id: a batch is removed with its results, some days after its end.',
  change_request_not_found: 'The team has no change request with this id.',
  webhook_not_found: 'The team has no webhook with this id.',
  delivery_not_found: 'The webhook has no delivery with this id; old ones are removed.',
  not_found: 'No endpoint has this method and path.',
  model_is_champion: "The model is the champion of a deployment and can't be archived.",
  member_exists: 'Another user has this email.',
  passwords_off:
    'Passwords are switched off: new members sign in through the identity provider, which adds them.',
  last_owner: 'The team must keep at least one owner.',
  change_outdated:
    "The deployment has changed since the change request was made, which therefore can't be applied.",
  features_added:
    'The deployment is strict, and the change adds features that callers must send: `details` names them, `accept_features` accepts them.',
  change_request_closed: 'The change request was decided on already, or its time is over.',
  approval_required:
    "The model is a challenger of a deployment that requires approval, and can't be archived.",
  limit_reached: 'There are as many of these as there may be: `message` says what to do.',
  webhook_inactive: 'The webhook is switched off: switch it on first.',
  definition_in_use:
    'Outcomes refer to this definition, which therefore never changes: use another id.',
  batch_not_ended: 'The batch waits or runs: read its results when it has ended.',
  input_changed: 'The file is not there, or was changed while it was scored.',
  idempotency_in_progress:
    'The first request with this `Idempotency-Key` is still under way: send the same request again after `Retry-After`.',
  idempotency_answer_lost:
    'A request with this `Idempotency-Key` made its change or logged its batch, but its answer was lost: read the present state, and use a new key for a further change.',
  batch_too_large: 'The batch has more than 1,000 records, or more than 10,000 outcomes.',
  payload_too_large: 'The body is larger than this endpoint accepts.',
  unsupported_media_type: 'The `Content-Type` is not JSON; a file of outcomes is NDJSON or CSV.',
  invalid_spec:
    'The scorecard specification is invalid: `details` lists every fault with its path.',
  invalid_baseline:
    'The development sample does not fit the model: `details` lists every fault, or the period has no scores of the model.',
  parity_failed:
    'Scores differ from those in the sample: `details` lists the first rows that differ.',
  invalid_file:
    "The file can't be scored: it is not of its format, or no column is a feature of the model.",
  not_exportable: "The model can't be exported in this format: `details` lists the reasons.",
  invalid_webhook: 'The address of the webhook is not allowed: `details` says why.',
  invalid_scope: 'A scope is unknown, or none is given.',
  invalid_traffic_config:
    'The traffic request is invalid, or the shares would exceed their limit: `details` says where.',
  idempotency_key_reused:
    'Another body was sent with this `Idempotency-Key`: use a new key for each new request.',
  strict_mode_violation:
    'In strict mode: `details` lists each missing feature and each unknown variable.',
  reasons_not_configured:
    'A model that could answer has no rules for reasons, or needs a baseline and none is in force.',
  population_too_small: 'Fewer applicants than `min_population` make the baseline.',
  rate_limited: 'The quota is used up: wait for `retry_after_ms`.',
  internal_error: 'The service failed.',
  unavailable: 'The service is temporarily unavailable: try again after `Retry-After`.',
} as const

export type ErrorCode = keyof typeof ERROR_CODES

/** Schema of the codes, under the name that generated clients use. */
const Code = Type.Unsafe<ErrorCode>(
  Type.String({
    title: 'ErrorCode',
    enum: Object.keys(ERROR_CODES),
    description: 'Stable code; the message may change',
  }),
)

/** The id as it was sent, so that the caller can match the record. */
export const RecordId = Type.Union([Type.String(), Type.Number(), Type.Null()], {
  description: 'The `id` of the record as it was sent; null without one',
})

export const ErrorDetail = Type.Object({
  path: Type.String({
    description: 'Position in the request, for example `features[3].bins[1].range`',
  }),
  message: Type.String({ description: 'What is wrong there' }),
  index: Type.Optional(Type.Integer({ description: 'In a batch: index of the record, from 0' })),
  id: Type.Optional(RecordId),
})

export const ErrorBody = Type.Object(
  {
    error: Code,
    message: Type.String({
      description: 'What is wrong and what to change; its wording may change',
    }),
    request_id: Type.String({
      description: 'As in `X-Request-Id`; the operator finds it in the log',
    }),
    details: Type.Optional(
      Type.Array(ErrorDetail, { description: 'Every fault, where there are several' }),
    ),
    retry_after_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'With `rate_limited` and `idempotency_in_progress`: milliseconds to wait',
      }),
    ),
  },
  { description: 'Why the request failed' },
)

/** The error body for each error status of a route; 429, 500 and 503 are added. */
export function errorResponses<Status extends number>(
  ...statuses: readonly Status[]
): Record<Status | 429 | 500 | 503, TSchema> {
  const entries = [...statuses, 429, 500, 503].map((status) => [status, ErrorBody])
  return Object.fromEntries(entries) as Record<Status | 429 | 500 | 503, TSchema>
}
