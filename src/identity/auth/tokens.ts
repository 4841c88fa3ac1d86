import type { FastifyInstance } from 'fastify'
import { ACCESS_TOKEN_LIFE_SEC } from '../../../schemas/auth.ts'
import type { Session } from './service.ts'

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
