import fastifyPlugin from 'fastify-plugin'
import { notFoundHandler } from './not-found.ts'

/** Names each response's request, so that a caller and the log speak of the same one. */
export const requestIdPlugin = fastifyPlugin(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.header('x-request-id', request.id)
      // At once: the body of a request that leads nowhere is not worth reading.
      if (request.is404) notFoundHandler(request, reply)
      else done()
    })
  },
  { name: 'request-id', fastify: '5.x' },
)
