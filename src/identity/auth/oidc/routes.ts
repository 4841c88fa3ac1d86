import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { TokenResult } from '../../../../schemas/auth.ts'
import { errorResponses } from '../../../../schemas/errors.ts'
import { SignOnRequest, SignOnStart, SignOnStartRequest } from '../../../../schemas/sign-on.ts'
import { AppError } from '../../../errors.ts'
import { ANYONE } from '../../../http/access/caller.ts'
import { defineRoute, limitBodies } from '../../../http/define-route.ts'
import { readClient } from '../client.ts'
import { forbidStoring } from '../plugin.ts'
import { readTokens } from '../routes.ts'
import { SIGN_ON_LIFE_SEC, type SignOnService } from './service.ts'
import { isLoopback } from './settings.ts'

const BODY_BYTES_MAX = 32 * 1024

/** Single sign-on of programs. They keep what the console keeps in a cookie. */
export const signOnRoutes: FastifyPluginAsyncTypebox<{ readonly signOn: SignOnService }> = async (
  app,
  { signOn },
) => {
  limitBodies(app, BODY_BYTES_MAX)

  app.post(
    '/api/auth/oidc/start',
    defineRoute('auth.sign_on_start', ANYONE, {
      body: SignOnStartRequest,
      response: { 200: SignOnStart, ...errorResponses(400, 404, 413, 415) },
    }),
    async (request, reply) => {
      forbidStoring(reply)
      const { url, flow } = await signOn.begin('api', loopbackUrl(request.body.redirect_uri))
      return { authorization_url: url, flow, expires_in: SIGN_ON_LIFE_SEC }
    },
  )

  app.post(
    '/api/auth/oidc',
    defineRoute('auth.sign_on', ANYONE, {
      body: SignOnRequest,
      response: { 200: TokenResult, ...errorResponses(400, 401, 404, 413, 415) },
    }),
    async (request, reply) => {
      forbidStoring(reply)
      const { flow, ...answer } = request.body
      const order = { use: 'api', flow, answer, ...readClient(request) } as const
      return readTokens(app, await signOn.finish(order))
    },
  )
}

/**
 * A program's own address. Another would have the code sent to another machine.
 *
 * @throws AppError `invalid_request`
 */
function loopbackUrl(text: string): string {
  const url = URL.parse(text)
  const isPlain = url !== null && url.search === '' && url.hash === ''
  const isOpen = url?.username === '' && url.password === ''
  if (isPlain && isOpen && url.protocol === 'http:' && isLoopback(url)) return url.href
  const message =
    'must start with http://127.0.0.1, http://[::1] or http://localhost, without a query'
  throw new AppError('invalid_request', `redirect_uri ${message}`, {
    details: [{ path: 'redirect_uri', message }],
  })
}
