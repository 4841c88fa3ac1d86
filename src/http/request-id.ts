import fastifyPlugin from 'fastify-plugin'
import type { Clock } from '../clock.ts'
import { handoverOf } from '../handover.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** When its headers had come, on the clock that never goes back. */
    receivedAtMs: number
  }
}

interface RequestIdOptions {
  readonly clock: Clock
}

/** Names each response's request, so that a caller and the log speak of the same one, and notes its time. */
export const requestIdPlugin = fastifyPlugin<RequestIdOptions>(
  async (app, { clock }) => {
    app.decorateRequest('receivedAtMs', 0)

    app.addHook('onRequest', (request, reply, done) => {
      request.receivedAtMs = handoverOf(request.raw)?.receivedAtMs ?? clock.monotonicMs()
      reply.header('x-request-id', request.id)
      done()
    })
  },
  { name: 'request-id', fastify: '5.x' },
)
