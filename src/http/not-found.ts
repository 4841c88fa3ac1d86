import type { FastifyReply, FastifyRequest } from 'fastify'
import { errorReply } from './reply.ts'
import { STATUS_BY_CODE } from './status.ts'

/** Answers a method and path that no route has. */
export function notFoundHandler(request: FastifyRequest, reply: FastifyReply): void {
  const message = 'no endpoint has this method and path'
  reply.code(STATUS_BY_CODE.not_found).send(errorReply('not_found', message, request.id))
}
