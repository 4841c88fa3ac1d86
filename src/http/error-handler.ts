import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { errorFacts } from './error-facts.ts'
import { errorReply } from './reply.ts'
import { requestError } from './request-errors.ts'
import { STATUS_BY_CODE } from './status.ts'

const RETRY_AFTER_SEC = 1

type ErrorHandler = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void

/**
 * Answers every failure with the one error body, and logs it once.
 *
 * @param isUnavailable tells the failures of a database that is away: they are 503, not 500
 */
export function createErrorHandler(isUnavailable: (error: unknown) => boolean): ErrorHandler {
  return (error, request, reply) => {
    const failure = toAppError(error, isUnavailable)
    const status = STATUS_BY_CODE[failure.code]
    const facts = { operation: request.routeOptions.config.operation, code: failure.code }
    if (status >= 500) request.log.error({ ...facts, err: errorFacts(error) }, 'request failed')
    else request.log.debug(facts, 'request refused')
    if (status === 503) reply.header('retry-after', RETRY_AFTER_SEC)
    reply.code(status).send(errorReply(failure.code, failure.message, request.id, failure.details))
  }
}

function toAppError(error: FastifyError, isUnavailable: (error: unknown) => boolean): AppError {
  if (error instanceof AppError) return error
  if (isUnavailable(error)) {
    return new AppError('unavailable', 'the database is away, try again later', { cause: error })
  }
  return (
    requestError(error) ??
    new AppError('internal_error', 'the service failed to handle this request', { cause: error })
  )
}
