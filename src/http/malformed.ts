import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { systemClock } from '../clock.ts'
import { newId } from '../ids.ts'
import { errorReply } from './reply.ts'

/** Answers a request that fails in the router, before any hook runs: its URL can't be decoded. */
export function answerMalformedRequest(
  _error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  reply
    .code(400)
    .header('x-request-id', request.id)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(errorReply('invalid_request', 'the URL is malformed', request.id)))
}

/** Answers bytes that are no HTTP request, or one that came too slowly, and hangs up. */
export function answerUnparsableRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const [status, message] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? ['408 Request Timeout', 'the request did not arrive in time']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? ['431 Request Header Fields Too Large', 'the headers are too large']
        : ['400 Bad Request', 'this is no HTTP request']
  const requestId = newId('req_', systemClock.epochMs())
  const body = JSON.stringify(errorReply('invalid_request', message, requestId))
  if (socket.writable) {
    socket.write(
      `HTTP/1.1 ${status}\r\nConnection: close\r\nX-Request-Id: ${requestId}\r\n` +
        `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
  }
  socket.destroySoon()
}
