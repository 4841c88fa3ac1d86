import fastifyPlugin from 'fastify-plugin'

/** Names each response's request, so that a caller and the log speak of the same one. */
export const requestIdPlugin = fastifyPlugin(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.header('x-request-id', request.id)
      done()
    })
  },
  { name: 'request-id', fastify: '5.x' },
)
