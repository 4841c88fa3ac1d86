import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import {
  ACCESS_TOKEN_LIFE_SEC,
  LoginRequest,
  RefreshRequest,
  TokenResult,
} from '../../../schemas/auth.ts'
import { errorResponses } from '../../../schemas/errors.ts'
import { ANYONE } from '../../http/access/caller.ts'
import { defineRoute, limitBodies } from '../../http/define-route.ts'
import { readClient } from './client.ts'
import { forbidStoring } from './plugin.ts'
import type { AuthService, Session } from './service.ts'

const BODY_BYTES_MAX = 16 * 1024

/** Signing in, and staying so. */
export const authRoutes: FastifyPluginAsyncTypebox<{ readonly auth: AuthService }> = async (
  app,
  { auth },
) => {
  limitBodies(app, BODY_BYTES_MAX)
  const response = { 200: TokenResult, ...errorResponses(400, 401, 413, 415) }

  app.post(
    '/api/auth/login',
    defineRoute('auth.login', ANYONE, {
      body: LoginRequest,
      response,
    }),
    async (request, reply) => {
      forbidStoring(reply)
      return readTokens(app, await auth.login({ ...request.body, ...readClient(request) }))
    },
  )

  app.post(
    '/api/auth/refresh',
    defineRoute('auth.refresh', ANYONE, {
      body: RefreshRequest,
      response,
    }),
    async (request, reply) => {
      forbidStoring(reply)
      return readTokens(app, await auth.refresh(request.body.refresh_token))
    },
  )
}

/** The tokens of a session, as the API returns them. */
export function readTokens(
  app: Pick<FastifyInstance, 'jwt'>,
  { caller, refreshToken, sessionId }: Session,
) {
  const { userId, teamId, role } = caller
  return {
    access_token: app.jwt.sign({ sub: userId, team: teamId, role, session: sessionId }),
    refresh_token: refreshToken,
    expires_in: ACCESS_TOKEN_LIFE_SEC,
    token_type: 'Bearer' as const,
  }
}
