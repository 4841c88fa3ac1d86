import fastifyPlugin from 'fastify-plugin'
import type { RequestObserver } from '../request-observer.ts'

interface ObservationOptions {
  readonly observer: RequestObserver
}

/** Of requests that no route has. */
const NO_OPERATION = 'none'

/** Has each request observed when it is answered. */
export const observationPlugin = fastifyPlugin<ObservationOptions>(
  async (app, { observer }) => {
    app.addHook('onResponse', (request, reply, done) => {
      const { config } = request.routeOptions
      observer.observe({
        requestId: request.id,
        operation: config.operation ?? NO_OPERATION,
        method: request.method,
        status: reply.statusCode,
        durationMs: reply.elapsedTime,
        caller: request.caller,
        isOperational: config.isOperational === true,
      })
      done()
    })
  },
  { name: 'observation', dependencies: ['auth'], fastify: '5.x' },
)
