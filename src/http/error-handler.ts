import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { errorFacts } from '../platform/error-facts.ts'
import type { LogThrottle } from '../platform/log-throttle.ts'
import { errorReply, failureReply, RETRY_AFTER_SEC } from './reply.ts'
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

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods that routes have at a path; empty: no route has it. */
    methodsAt(path: string): readonly string[]
  }
}

const METHOD_NOT_ALLOWED = 405

/** Notes the routes that are registered after it, for `notFoundHandler`. */
export function noteMethods(app: FastifyInstance): void {
  const methodsByRoute = new Map<string, { readonly path: RegExp; readonly methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const noted = methodsByRoute.get(url) ?? { path: pathPattern(url), methods: new Set() }
    for (const one of [method].flat()) noted.methods.add(one)
    methodsByRoute.set(url, noted)
  })
  app.decorate('methodsAt', (path) => {
    const found = [...methodsByRoute.values()].filter((route) => route.path.test(path))
    return [...new Set(found.flatMap(({ methods }) => [...methods]))].sort()
  })
}

/** Answers a method and path that no route has: 405 where another method has the path. */
export function notFoundHandler(request: FastifyRequest, reply: FastifyReply): void {
  const [path = ''] = request.url.split('?', 1)
  const methods = request.server.methodsAt(path)
  // A route may find that it has no such file.
  if (methods.length === 0 || methods.includes(request.method)) {
    const message = 'no endpoint has this method and path'
    reply.code(STATUS_BY_CODE.not_found).send(errorReply('not_found', message, request.id))
    return
  }
  const allowed = methods.join(', ')
  const message = `no endpoint has this method at this path: use ${allowed}`
  reply.code(METHOD_NOT_ALLOWED).header('allow', allowed)
  reply.send(errorReply('not_found', message, request.id))
}

/** `/v1/keys/:id` as an expression; a `*` stands for the rest of a path. */
function pathPattern(url: string): RegExp {
  const steps = url.split('/').map((step) => {
    if (step.startsWith(':')) return '[^/]+'
    return step.split('*').map(escapeText).join('.*')
  })
  return new RegExp(`^${steps.join('/')}$`)
}

function escapeText(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
