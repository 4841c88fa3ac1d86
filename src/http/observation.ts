import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { readTraceparent } from '../platform/tracing/traceparent.ts'
import type { RequestObserver } from './request-observer.ts'
import { STATUS_BY_CODE } from './status.ts'

declare module 'fastify' {
  interface FastifyRequest {
    isObserved: boolean
  }
}

/** The operation of requests that match no route. */
const NO_OPERATION = 'none'
const DEPLOYMENT_ID = /^dep_[0-9A-Za-z]+$/

/**
 * Observes each request once: when its answer is handed to the system, or when its client hangs up
 * before the request is complete, which counts as a malformed request.
 */
export const observationPlugin = fastifyPlugin<{ readonly observer: RequestObserver }>(
  async (app, { observer }) => {
    app.decorateRequest('isObserved', false)

    app.addHook('onResponse', (request, reply, done) => {
      observe(request, reply.statusCode, reply.hasHeader('idempotent-replayed'))
      done()
    })

    // Without it nothing would be observed: the answer to a closed connection is never handed over.
    app.addHook('onRequestAbort', (request, done) => {
      observe(request, STATUS_BY_CODE.invalid_request, false)
      done()
    })

    function observe(request: FastifyRequest, status: number, isReplay: boolean): void {
      if (request.isObserved) return
      request.isObserved = true
      const { config, url } = request.routeOptions
      const { span } = request
      if (span !== null && status < 400) span.deploymentId ??= deploymentIn(request.params)
      observer.observe({
        requestId: request.id,
        operation: config.operation ?? NO_OPERATION,
        load: config.load,
        method: request.method,
        route: url,
        status,
        receivedAtMs: request.receivedAtMs,
        caller: request.caller,
        traceparent: readTraceparent(request.headers['traceparent']),
        span,
        isReplay,
        isOperational: config.isOperational === true,
      })
    }
  },
  { name: 'observation', dependencies: ['auth', 'request-id'], fastify: '5.x' },
)

/** The deployment that a path names. It exists if the request has succeeded. */
function deploymentIn(params: unknown): string | null {
  const { slug } = (params ?? {}) as { readonly slug?: unknown }
  return typeof slug === 'string' && DEPLOYMENT_ID.test(slug) ? slug : null
}
