import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import type { Sparing } from '../sparing.ts'
import { errorFacts } from './error-facts.ts'
import { failureReply } from './reply.ts'
import { requestError } from './request-errors.ts'
import { STATUS_BY_CODE } from './status.ts'

const RETRY_AFTER_SEC = 1

type ErrorHandler = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void

/**
 * Answers every failure with the one error body, and logs it once. Of what is unavailable, which may be all
 * that there is, the log is told sparingly: writing each line would take what is left of the process.
 */
export function errorHandler(sparing: Sparing): ErrorHandler {
  return (error, request, reply) => handleError(error, request, reply, sparing)
}

function handleError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  sparing: Sparing,
): void {
  const failure =
    error instanceof AppError
      ? error
      : (requestError(error) ??
        new AppError('internal_error', 'the service failed to handle this request'))
  const status = STATUS_BY_CODE[failure.code]
  const { operation } = request.routeOptions.config
  const facts = { requestId: request.id, operation, code: failure.code }
  if (status === 500) request.log.error({ ...facts, err: errorFacts(error) }, 'request failed')
  else if (status === 503) {
    const count = sparing.note(`unavailable ${operation}`)
    if (count > 0) request.log.warn({ ...facts, count, err: errorFacts(error) }, 'unavailable')
  } else request.log.debug(facts, 'request refused')
  if (status === 503) reply.header('retry-after', RETRY_AFTER_SEC)
  if (failure.retryAfterMs !== undefined) {
    reply.header('retry-after', Math.ceil(failure.retryAfterMs / 1000))
  }
  reply.code(status).send(failureReply(failure, request.id))
}
