import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'
import { systemClock } from '../platform/clock.ts'
import { newId } from '../platform/ids.ts'
import { failureReply, JSON_TYPE } from './reply.ts'
import { STATUS_BY_CODE } from './status.ts'

/** Counts a request on its address, and calls back with the headers and the denial, if any. */
export type AddressCounter = (
  address: string | undefined,
  counted: (headers: object, denial: AppError | null) => void,
) => void

type MalformedHandler = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void
type UnparsableHandler = (error: Error & { code?: string }, socket: Socket) => void

/**
 * Answers a request that fails in the router, before any hook runs: its URL can't be decoded.
 *
 * @param count counts it on its client's address
 */
export function malformedRequestHandler(count: AddressCounter): MalformedHandler {
  return (_error, request, reply) => {
    const answer = (headers: object, denial: AppError | null) => {
      const failure = denial ?? new AppError('invalid_request', 'the URL is malformed')
      reply
        .code(STATUS_BY_CODE[failure.code])
        .headers({ ...headers, 'x-request-id': request.id })
        .type(JSON_TYPE)
        .send(JSON.stringify(failureReply(failure, request.id)))
    }
    count(request.ip, answer)
  }
}

/**
 * Answers bytes that are not an HTTP request, or a request that came too slowly, and hangs up.
 *
 * It counts the address of the connection, since no headers were read. Behind a proxy that is the
 * proxy's address, whose budget nothing else takes from: requests that can be read have their
 * client's.
 *
 * @param count counts it on the address of its connection
 */
export function unparsableRequestHandler(count: AddressCounter): UnparsableHandler {
  const answered = new WeakSet<Socket>()
  return (error, socket) => {
    // More such bytes may arrive while the first ones are counted.
    if (error.code === 'ECONNRESET' || socket.destroyed || answered.has(socket)) return
    answered.add(socket)
    const [status, message] =
      error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'the request did not arrive in time']
        : error.code === 'HPE_HEADER_OVERFLOW'
          ? ['431 Request Header Fields Too Large', 'the headers are too large']
          : ['400 Bad Request', 'this is not an HTTP request']
    const answer = (headers: object, denial: AppError | null) => {
      if (denial !== null) hangUp(socket, '429 Too Many Requests', headers, denial)
      else hangUp(socket, status, headers, new AppError('invalid_request', message))
    }
    count(socket.remoteAddress, answer)
  }
}

function hangUp(socket: Socket, status: string, headers: object, failure: AppError): void {
  const requestId = newId('req_', systemClock.epochMs())
  const body = JSON.stringify(failureReply(failure, requestId))
  const all = {
    connection: 'close',
    'x-request-id': requestId,
    ...headers,
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
  }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  if (socket.writable) socket.write(`HTTP/1.1 ${status}\r\n${head.join('')}\r\n${body}`)
  socket.destroySoon()
}
