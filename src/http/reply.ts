import type { FastifyReply } from 'fastify'
import type { AppError, ErrorCode, ErrorDetail } from '../errors.ts'

interface ErrorReply {
  readonly error: ErrorCode
  readonly message: string
  readonly request_id: string
  readonly details?: readonly ErrorDetail[]
  readonly retry_after_ms?: number
}

export function errorReply(error: ErrorCode, message: string, requestId: string): ErrorReply {
  return { error, message, request_id: requestId }
}

export function failureReply(failure: AppError, requestId: string): ErrorReply {
  const { code, message, details, retryAfterMs } = failure
  return {
    ...errorReply(code, message, requestId),
    ...(details && { details }),
    ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
  }
}

/** The wait that a 503 names in `Retry-After`. */
export const RETRY_AFTER_SEC = 1
/** Content type of the responses that the service writes as text. */
export const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Makes the headers of an answer that a browser stores as a file and never shows.
 *
 * @param name has only characters that a header can contain
 */
export function fileHeaders(type: string, name: string) {
  return {
    'content-type': type,
    'content-disposition': `attachment; filename="${name}"`,
    'x-content-type-options': 'nosniff',
  }
}

/** Sends an answer that was written already. */
export function sendJson(reply: FastifyReply, body: Uint8Array<ArrayBuffer>): FastifyReply {
  const { buffer, byteOffset, byteLength } = body
  return reply.type(JSON_TYPE).send(Buffer.from(buffer, byteOffset, byteLength))
}

/** The last property of a list: present where there is a next page. */
export function nextCursor(cursor: string | null): { next_cursor?: string } {
  return cursor === null ? {} : { next_cursor: cursor }
}
