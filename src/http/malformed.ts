import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { systemClock } from '../clock.ts'
import { AppError } from '../errors.ts'
import { newId } from '../ids.ts'
import { failureReply, JSON_TYPE } from './reply.ts'
import { STATUS_BY_CODE } from './status.ts'

/** Counts a request on the address that it came from, and tells the headers and what refuses it. */
export type AddressCounter = (
  address: string | undefined,
  counted: (headers: object, denial: AppError | null) => void,
) => void

type MalformedHandler = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void
type UnparsableHandler = (error: Error & { code?: string }, socket: Socket) => void

/**
 * Answers a request that fails in the router, before any hook runs: its URL can't be decoded.
 *
 * @param count counts it on its client's address; null: nothing is counted
 */
export function malformedRequestHandler(count: AddressCounter | null): MalformedHandler {
  return (_error, request, reply) => {
    const answer = (headers: object, denial: AppError | null) => {
      const failure = denial ?? new AppError('invalid_request', 'the URL is malformed')
      reply
        .code(STATUS_BY_CODE[failure.code])
        .headers({ ...headers, 'x-request-id': request.id })
        .type(JSON_TYPE)
        .send(JSON.stringify(failureReply(failure, request.id)))
    }
    if (count === null) answer({}, null)
    else count(request.ip, answer)
  }
}

/**
 * Answers bytes that are no HTTP request, or one that came too slowly, and hangs up.
 *
 * @param count counts it on the address of its connection; null: nothing is counted
 */
export function unparsableRequestHandler(count: AddressCounter | null): UnparsableHandler {
  const answered = new WeakSet<Socket>()
  return (error, socket) => {
    // More that can't be parsed may come while the first of it is counted.
    if (error.code === 'ECONNRESET' || socket.destroyed || answered.has(socket)) return
    answered.add(socket)
    const [status, message] =
      error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'the request did not arrive in time']
        : error.code === 'HPE_HEADER_OVERFLOW'
          ? ['431 Request Header Fields Too Large', 'the headers are too large']
          : ['400 Bad Request', 'this is no HTTP request']
    const answer = (headers: object, denial: AppError | null) => {
      if (denial !== null) hangUp(socket, '429 Too Many Requests', headers, denial)
      else hangUp(socket, status, headers, new AppError('invalid_request', message))
    }
    if (count === null) answer({}, null)
    else count(socket.remoteAddress, answer)
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
