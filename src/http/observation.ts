import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { RequestObserver } from './request-observer.ts'
import { STATUS_BY_CODE } from './status.ts'

declare module 'fastify' {
  interface FastifyRequest {
    isObserved: boolean
  }
}

interface ObservationOptions {
  readonly observer: RequestObserver
}

/** The operation of requests that match no route. */
const NO_OPERATION = 'none'

/**
 * Observes each request once: when its answer is handed to the system, or when its client hangs up
 * before the request is complete, which counts as a malformed request.
 */
export const observationPlugin = fastifyPlugin<ObservationOptions>(
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
      const { config } = request.routeOptions
      observer.observe({
        requestId: request.id,
        operation: config.operation ?? NO_OPERATION,
        load: config.load,
        method: request.method,
        status,
        receivedAtMs: request.receivedAtMs,
        caller: request.caller,
        isReplay,
        isOperational: config.isOperational === true,
      })
    }
  },
  { name: 'observation', dependencies: ['auth', 'request-id'], fastify: '5.x' },
)
