import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import fastifyPlugin from 'fastify-plugin'
import { ServerResponse as NodeResponse } from '../platform/node-http.ts'
import { errorReply } from './reply.ts'

const EXPECTATION_FAILED = 417

/** Requests whose header `Expect` names what Node does not know. */
const unexpected = new WeakSet<IncomingMessage>()

/**
 * Takes over the requests that Node would answer by itself, without a body, a request id and the
 * quota: those with an unknown expectation, and CONNECT. They go the way of all others.
 *
 * @param answer Fastify's own listener, not the fast path
 */
export function takeNodeEvents(server: Server, answer: RequestListener): void {
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    unexpected.add(request)
    answer(request, response)
  })
  // Node has let go of the connection: what comes on it next is not HTTP any more.
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    const response = new NodeResponse(request)
    response.shouldKeepAlive = false
    socket.on('error', () => socket.destroy())
    response.on('finish', () => socket.end(() => socket.destroy()))
    try {
      // A server's connections are sockets, or as good as one.
      response.assignSocket(socket as Parameters<ServerResponse['assignSocket']>[0])
    } catch {
      // An earlier request of the connection waits for its response, which Node would mix with this
      // one.
      socket.destroy()
      return
    }
    answer(request, response)
  })
}

/** Refuses unknown expectations, after callers and paths were refused, before the body is read. */
export const expectationPlugin = fastifyPlugin(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      if (!unexpected.has(request.raw)) {
        done()
        return
      }
      const message = 'the service meets only Expect: 100-continue; leave the header out'
      reply.code(EXPECTATION_FAILED).send(errorReply('invalid_request', message, request.id))
    })
  },
  { name: 'expectation', dependencies: ['refusal'], fastify: '5.x' },
)
