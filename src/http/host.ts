import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { AppError } from '../errors.ts'

/**
 * Refuses a request without Host or with two of them: two readers of such a request can differ in
 * whom it is for.
 *
 * @source RFC 9112, section 3.2
 */
export const hostPlugin = fastifyPlugin(
  async (app) => {
    app.addHook('onRequest', ({ raw }, _reply, done) => {
      const hosts = countHosts(raw)
      if (hosts === 1 || (hosts === 0 && raw.httpVersion === '1.0')) done()
      else done(new AppError('invalid_request', `send one header Host, not ${hosts}`))
    })
  },
  { name: 'host', fastify: '5.x' },
)

function countHosts({ rawHeaders }: IncomingMessage): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

/** The service as the caller addressed it; without a Host header, as the connection arrived. */
export function addressedUrl({ protocol, host, socket }: FastifyRequest): string {
  return `${protocol}://${host || `${socket.localAddress}:${socket.localPort}`}`
}
