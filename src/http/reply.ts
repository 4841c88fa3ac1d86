import type { ErrorCode, ErrorDetail } from '../errors.ts'

/** The one error body. */
export interface ErrorReply {
  readonly error: ErrorCode
  readonly message: string
  readonly request_id: string
  readonly details?: readonly ErrorDetail[]
}

export function errorReply(
  error: ErrorCode,
  message: string,
  requestId: string,
  details?: readonly ErrorDetail[],
): ErrorReply {
  return { error, message, request_id: requestId, ...(details && { details }) }
}
