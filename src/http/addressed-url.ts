import type { FastifyRequest } from 'fastify'

/** The service as the caller addressed it; without a Host header, as the connection arrived. */
export function addressedUrl({ protocol, host, socket }: FastifyRequest): string {
  return `${protocol}://${host || `${socket.localAddress}:${socket.localPort}`}`
}
