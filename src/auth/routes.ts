import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ACCESS_TOKEN_LIFE_SEC, LoginRequest, TokenResult } from '../../schemas/auth.ts'
import { errorResponses } from '../../schemas/errors.ts'
import { ANYONE } from './caller.ts'
import { forbidStoring } from './plugin.ts'
import type { AuthService } from './service.ts'

interface AuthRouteOptions {
  readonly auth: AuthService
}

const BODY_BYTES_MAX = 16 * 1024

/** Signing in. */
export const authRoutes: FastifyPluginAsyncTypebox<AuthRouteOptions> = async (app, { auth }) => {
  app.post(
    '/api/auth/login',
    {
      bodyLimit: Math.min(BODY_BYTES_MAX, app.initialConfig.bodyLimit ?? BODY_BYTES_MAX),
      schema: {
        body: LoginRequest,
        response: { 200: TokenResult, ...errorResponses(400, 401, 413, 415) },
      },
      config: { operation: 'auth.login', access: ANYONE },
    },
    async (request, reply) => {
      forbidStoring(reply)
      const { caller, refreshToken } = await auth.login(request.body.email, request.body.password)
      const { userId, teamId, role } = caller
      return {
        access_token: app.jwt.sign({ sub: userId, team: teamId, role }),
        refresh_token: refreshToken,
        expires_in: ACCESS_TOKEN_LIFE_SEC,
        token_type: 'Bearer' as const,
      }
    },
  )
}
