import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { listQuery } from '../../../../schemas/common.ts'
import { errorResponses } from '../../../../schemas/errors.ts'
import { ChangePasswordRequest, SessionList } from '../../../../schemas/own-account.ts'
import { ANY_MEMBER } from '../../../http/access/caller.ts'
import { userCaller } from '../../../http/access/request-caller.ts'
import { clientNetwork } from '../../../http/client-network.ts'
import { defineRoute, limitBodies } from '../../../http/define-route.ts'
import { sendList } from '../../../http/reply.ts'
import type { OwnAccountService } from './service.ts'

const BODY_BYTES_MAX = 16 * 1024
const ListQuery = listQuery({})
const SessionParams = Type.Object({ id: Type.String() })

/** Answers calls of members on their own accounts. */
export const ownAccountRoutes: FastifyPluginAsyncTypebox<{
  readonly ownAccounts: OwnAccountService
}> = async (app, { ownAccounts }) => {
  limitBodies(app, BODY_BYTES_MAX)

  app.post(
    '/api/auth/password',
    defineRoute('auth.change_password', ANY_MEMBER, {
      body: ChangePasswordRequest,
      response: { 204: Type.Null(), ...errorResponses(400, 401, 403, 413, 415) },
    }),
    async (request, reply) => {
      const { current_password: currentPassword, new_password: newPassword } = request.body
      const clientAddress = clientNetwork(request.ip)
      const order = { currentPassword, newPassword, clientAddress }
      await ownAccounts.changePassword(userCaller(request), order)
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/api/auth/sessions',
    defineRoute('sessions.list', ANY_MEMBER, {
      querystring: ListQuery,
      response: { 200: SessionList, ...errorResponses(400, 401) },
    }),
    (request, reply) => {
      const caller = userCaller(request)
      return sendList(reply, request.query, {
        read: (page) => ownAccounts.sessions(caller, page),
        answer: (items) => ({
          sessions: items.map((session) => ({
            id: session.id,
            started_at: session.startedAt.toISOString(),
            last_refreshed_at: session.refreshedAt.toISOString(),
            expires_at: session.expiresAt.toISOString(),
            is_current: session.id === caller.sessionId,
          })),
        }),
      })
    },
  )

  app.delete(
    '/api/auth/sessions/:id',
    defineRoute('sessions.end', ANY_MEMBER, {
      params: SessionParams,
      response: { 204: Type.Null(), ...errorResponses(400, 401, 404, 413, 415) },
    }),
    async (request, reply) => {
      await ownAccounts.endSession(userCaller(request), request.params.id)
      return reply.code(204).send(null)
    },
  )
}
