import fastifyPlugin from 'fastify-plugin'
import type { Clock } from '../platform/clock.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** When its headers had arrived, in milliseconds of the monotonic clock. */
    receivedAtMs: number
  }
}

interface RequestIdOptions {
  readonly clock: Clock
}

/** Records when a request arrived, and names it in its response: the log has the same id. */
export const requestIdPlugin = fastifyPlugin<RequestIdOptions>(
  async (app, { clock }) => {
    app.decorateRequest('receivedAtMs', 0)

    app.addHook('onRequest', (request, reply, done) => {
      request.receivedAtMs = clock.monotonicMs()
      reply.header('x-request-id', request.id)
      done()
    })
  },
  { name: 'request-id', fastify: '5.x' },
)
