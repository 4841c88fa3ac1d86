import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LoginRequest, TokenResult } from '../../schemas/auth.ts'
import { errorResponses } from '../../schemas/errors.ts'
import { AppError } from '../errors.ts'
import { ANYONE } from '../http/access/caller.ts'
import { limitBodies } from '../http/body-limit.ts'
import { defineRoute } from '../http/define-route.ts'
import { readClient } from '../identity/auth/client.ts'
import { forbidStoring } from '../identity/auth/plugin.ts'
import type { AuthService, Session } from '../identity/auth/service.ts'
import { readTokens } from '../identity/auth/tokens.ts'
import type { ConsoleSession } from './session.ts'

interface SessionRouteOptions {
  readonly auth: AuthService
  readonly session: ConsoleSession
}

const BODY_BYTES_MAX = 16 * 1024
const Nothing = Type.Object({}, { additionalProperties: false })
/** Like the API's response, but without the refresh token: scripts of the page must not see it. */
const AccessToken = Type.Omit(TokenResult, ['refresh_token'])

/**
 * The console's session. It works like `/api/auth/login` and `/refresh`, but keeps the refresh
 * token in a cookie that scripts can't read and other sites can't send.
 *
 * Pages of other sites can't use these routes: the cookie is `SameSite=Strict`, and JSON bodies,
 * PUT and DELETE need a cross-origin permission that the service never gives.
 */
export const sessionRoutes: FastifyPluginAsyncTypebox<SessionRouteOptions> = async (
  app,
  { auth, session },
) => {
  limitBodies(app, BODY_BYTES_MAX)
  const response = { 200: AccessToken, ...errorResponses(400, 401, 413, 415) }

  app.post(
    '/console/session',
    defineRoute('console.sign_in', ANYONE, {
      body: LoginRequest,
      response,
    }),
    async (request, reply) => {
      const started = await auth.login({ ...request.body, ...readClient(request) })
      // The new cookie replaces the former one, so its session could not be ended later.
      const former = session.readToken(request)
      if (former !== null) await auth.logout(former)
      return sendSession(request, reply, started)
    },
  )

  app.put(
    '/console/session',
    defineRoute('console.renew', ANYONE, {
      body: Nothing,
      response,
    }),
    async (request, reply) => {
      forbidStoring(reply)
      try {
        const presented = session.readToken(request) ?? ''
        return sendSession(request, reply, await auth.refresh(presented))
      } catch (error) {
        if (error instanceof AppError && error.code === 'invalid_refresh_token') {
          session.forget(request, reply)
        }
        throw error
      }
    },
  )

  app.delete(
    '/console/session',
    defineRoute('console.sign_out', ANYONE, {
      response: { 204: Type.Null(), ...errorResponses(400, 413, 415) },
    }),
    async (request, reply) => {
      // The browser forgets the session even if ending it fails.
      session.forget(request, reply)
      const presented = session.readToken(request)
      if (presented !== null) await auth.logout(presented)
      return reply.code(204).send(null)
    },
  )

  function sendSession(request: FastifyRequest, reply: FastifyReply, started: Session) {
    session.keep(request, reply, started.refreshToken)
    const { refresh_token: _, ...shown } = readTokens(app, started)
    return shown
  }
}
