import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { errorResponses } from '../../schemas/errors.ts'
import { AppError } from '../errors.ts'
import { ANYONE } from '../http/access/caller.ts'
import { defineRoute } from '../http/define-route.ts'
import { readClient } from '../identity/auth/client.ts'
import { findSignOnRefusal, signOnRefused } from '../identity/auth/oidc/refusals.ts'
import { SIGN_ON_LIFE_SEC, type SignOnService } from '../identity/auth/oidc/service.ts'
import { forbidStoring } from '../identity/auth/plugin.ts'
import { hashRefreshToken } from '../identity/auth/refresh-tokens.ts'
import type { AuthService } from '../identity/auth/service.ts'
import { systemClock } from '../platform/clock.ts'
import { errorFacts } from '../platform/error-facts.ts'
import { LogThrottle } from '../platform/log-throttle.ts'
import { type ConsoleSession, SIGN_ON_COOKIE } from './session.ts'

interface ConsoleSignOnOptions {
  readonly auth: AuthService
  readonly signOn: SignOnService
  readonly session: ConsoleSession
  readonly publicUrl: string | null
}

const Methods = Type.Object({ sign_on: Type.Boolean(), password: Type.Boolean() })
const TEXT_CHARS_MAX = 8192
const Text = Type.Optional(Type.String({ maxLength: TEXT_CHARS_MAX }))
/** Parameters that an identity provider may send; further parameters are its own. */
const CallbackQuery = Type.Object({ code: Text, state: Text, iss: Text, error: Text })

/**
 * Single sign-on of the console. The browser takes the identity provider's code here, and no token
 * is ever in a URL: the session is in the console's cookie, as after a sign-in with a password.
 */
export const consoleSignOnRoutes: FastifyPluginAsyncTypebox<ConsoleSignOnOptions> = async (
  app,
  { auth, signOn, session, publicUrl },
) => {
  const throttle = new LogThrottle(systemClock)
  /**
   * The page that says why. Its address has the name of the reason, and nothing that was sent here.
   *
   * @throws the error if it has no reason that a person can understand
   */
  const refusedAt = (error: unknown): string => {
    const refusal = findSignOnRefusal(error)
    if (refusal !== null) return `sign-in?refused=${refusal}`
    if (!(error instanceof AppError)) throw error
    const count = throttle.hit(error.code)
    if (count > 0) app.log.error({ err: errorFacts(error), count }, 'a sign-on failed')
    return `sign-in?refused=${error.code}`
  }

  app.get(
    '/console/methods',
    defineRoute('console.methods', ANYONE, {
      response: { 200: Methods, ...errorResponses() },
    }),
    (_request, reply) => {
      forbidStoring(reply)
      const { hasSignOn, hasPasswords } = signOn.methods
      return { sign_on: hasSignOn, password: hasPasswords }
    },
  )

  app.get(
    '/console/sign-on',
    { config: { operation: 'console.start_sign_on', access: ANYONE } },
    async (request, reply) => {
      // Another site could send the browser here unasked: then the console's page shows its button.
      if (isFromElsewhere(request)) return leave(reply, '../console')
      try {
        const former = session.readToken(request)
        const { url, flow } = await signOn.begin(
          'console',
          `${publicUrl}/console/callback`,
          former === null ? null : hashRefreshToken(former),
        )
        const isSecure = session.isSecure(request)
        const maxAgeSec = SIGN_ON_LIFE_SEC
        reply.header('set-cookie', SIGN_ON_COOKIE.header(flow, { maxAgeSec, isSecure }))
        return leave(reply, url)
      } catch (error) {
        return leave(reply, refusedAt(error))
      }
    },
  )

  app.get(
    '/console/callback',
    defineRoute('console.end_sign_on', ANYONE, {
      querystring: CallbackQuery,
    }),
    async (request, reply) => {
      const isSecure = session.isSecure(request)
      const flow = SIGN_ON_COOKIE.valueIn(request, isSecure)
      // Whatever comes of it, this sign-on has ended.
      reply.header('set-cookie', SIGN_ON_COOKIE.header('', { maxAgeSec: 0, isSecure }))
      try {
        if (flow === null) throw signOnRefused('flow')
        const answer = readAnswer(request.query)
        const order = { use: 'console', flow, answer, ...readClient(request) } as const
        const started = await signOn.finish(order)
        const { formerTokenHash } = started
        // The browser forgets that session now, so it could not be ended later.
        if (formerTokenHash !== null) {
          await auth.endSessionByToken(formerTokenHash, 'another sign-in took its place')
        }
        session.keep(request, reply, started.refreshToken)
        return leave(reply, '../console')
      } catch (error) {
        return leave(reply, refusedAt(error))
      }
    },
  )
}

/**
 * Tells whether a page of another origin sends the browser; programs and old browsers do not tell.
 */
function isFromElsewhere({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  return site === 'cross-site' || site === 'same-site'
}

/** @throws AppError `sign_on_refused` for an answer without a code */
function readAnswer({ code, state = '', iss, error }: Static<typeof CallbackQuery>) {
  if (error !== undefined) throw signOnRefused('access_denied')
  if (code === undefined) throw signOnRefused('code')
  return { code, state, iss }
}

/** Sends the browser on. The page that it goes to does not learn where it was. */
function leave(reply: FastifyReply, url: string): FastifyReply {
  forbidStoring(reply)
  return reply.header('referrer-policy', 'no-referrer').redirect(url, 302)
}
