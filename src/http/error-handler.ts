import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { errorFacts } from '../platform/error-facts.ts'
import type { LogThrottle } from '../platform/log-throttle.ts'
import { failureReply, RETRY_AFTER_SEC } from './reply.ts'
import { requestError } from './request-errors.ts'
import { readTraceFacts } from './request-id.ts'
import { STATUS_BY_CODE } from './status.ts'

type ErrorHandler = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void

/**
 * Answers every failure with the one error body, and logs it once. When everything is unavailable,
 * the log gets only some lines with a count: to write each line would overload the process further.
 */
export function errorHandler(logThrottle: LogThrottle): ErrorHandler {
  return (error, request, reply) => handleError(error, request, reply, logThrottle)
}

function handleError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  logThrottle: LogThrottle,
): void {
  const failure =
    error instanceof AppError
      ? error
      : (requestError(error, makeBody(request)) ??
        new AppError('internal_error', 'the service failed to handle this request'))
  const status = STATUS_BY_CODE[failure.code]
  const { operation } = request.routeOptions.config
  const { code } = failure
  const facts = { requestId: request.id, operation, code, ...readTraceFacts(request) }
  if (request.span !== null) request.span.errorCode = code
  if (status === 500) request.log.error({ ...facts, err: errorFacts(error) }, 'request failed')
  else if (status === 503) {
    const count = logThrottle.hit(`unavailable ${operation}`)
    if (count > 0) request.log.warn({ ...facts, count, err: errorFacts(error) }, 'unavailable')
  } else request.log.debug(facts, 'request refused')
  if (status === 503) reply.header('retry-after', RETRY_AFTER_SEC)
  if (failure.retryAfterMs !== undefined) {
    reply.header('retry-after', Math.ceil(failure.retryAfterMs / 1000))
  }
  // RFC 9110, 15.5.2: a 401 says how to prove oneself.
  if (status === 401) reply.header('www-authenticate', 'Bearer realm="scoreline"')
  reply.code(status).send(failureReply(failure, request.id))
}

function makeBody({ routeOptions: { bodyLimit, config } }: FastifyRequest) {
  return {
    ...(bodyLimit !== undefined && { bodyBytesMax: bodyLimit }),
    fileTypes: config.fileTypes ?? [],
    takesCard: config.takesCard === true,
  }
}
