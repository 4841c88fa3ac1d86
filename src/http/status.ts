import type { ErrorCode } from '../errors.ts'

/** HTTP status of each error code; a new code without a status does not compile. */
export const STATUS_BY_CODE = {
  invalid_request: 400,
  invalid_api_key: 401,
  unauthorized: 401,
  invalid_credentials: 401,
  insufficient_role: 403,
  deployment_not_found: 404,
  not_found: 404,
  batch_too_large: 413,
  payload_too_large: 413,
  unsupported_media_type: 415,
  invalid_spec: 422,
  invalid_scope: 422,
  strict_mode_violation: 422,
  internal_error: 500,
  unavailable: 503,
} as const satisfies Record<ErrorCode, number>
