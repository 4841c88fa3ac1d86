import fastifyPlugin from 'fastify-plugin'
import type { Clock } from '../clock.ts'
import { handoverOf } from '../handover.ts'
import type { RequestObserver } from '../request-observer.ts'

interface ObservationOptions {
  readonly observer: RequestObserver
  readonly clock: Clock
}

/** Of requests that no route has. */
const NO_OPERATION = 'none'

/** Has each request observed when it is answered. */
export const observationPlugin = fastifyPlugin<ObservationOptions>(
  async (app, { observer, clock }) => {
    app.addHook('onResponse', (request, reply, done) => {
      const { config } = request.routeOptions
      const begun = handoverOf(request.raw)
      observer.observe({
        requestId: request.id,
        operation: config.operation ?? NO_OPERATION,
        method: request.method,
        status: reply.statusCode,
        durationMs: begun ? clock.monotonicMs() - begun.receivedAtMs : reply.elapsedTime,
        caller: request.caller,
        isOperational: config.isOperational === true,
      })
      done()
    })
  },
  { name: 'observation', dependencies: ['auth'], fastify: '5.x' },
)
