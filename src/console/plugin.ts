import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { LoginRequest, TokenResult } from '../../schemas/auth.ts'
import { errorResponses } from '../../schemas/errors.ts'
import { AppError } from '../errors.ts'
import { ANYONE } from '../http/access/caller.ts'
import { defineRoute, limitBodies } from '../http/define-route.ts'
import { notFoundHandler } from '../http/error-handler.ts'
import { readClient } from '../identity/auth/client.ts'
import type { SignOnService } from '../identity/auth/oidc/service.ts'
import { forbidStoring } from '../identity/auth/plugin.ts'
import { readTokens } from '../identity/auth/routes.ts'
import type { AuthService, Session } from '../identity/auth/service.ts'
import { ConsoleSession } from './session.ts'
import { consoleSignOnRoutes } from './sign-on-routes.ts'

interface ConsoleOptions {
  readonly auth: AuthService
  readonly signOn: SignOnService
  readonly publicUrl: string | null
}

/**
 * The page runs scripts of this service only, connects to this service only, and can't be framed.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
/** Names that the build gives. */
const NAME = /^\w[\w.-]*$/
const NOT_BUILT = 'The console is not built. Run npm ci with development tools, then try again.\n'

/**
 * Serves the console at `/console` to anyone and redirects browsers there from `/`. The page reads
 * all data from the API as its user. Its routes count against the quota of the client's address,
 * like those of the documentation, and are not part of the API.
 */
export const consolePlugin = fastifyPlugin<ConsoleOptions>(
  async (app, { auth, signOn, publicUrl }) => {
    await app.register(async (scope) => {
      scope.addHook('onRoute', (route) => {
        route.schema = { ...route.schema, hide: true }
      })
      scope.addHook('onSend', (_request, reply, _payload, done) => {
        reply.header('x-content-type-options', 'nosniff')
        done()
      })
      const session = new ConsoleSession(publicUrl)
      await scope.register(sessionRoutes, { auth, session })
      await scope.register(consoleSignOnRoutes, { auth, signOn, session, publicUrl })

      const config = { operation: 'console.page', access: ANYONE } as const
      const sendPage = async (request: FastifyRequest, reply: FastifyReply) => {
        const page = await readPage()
        if (page === null) return reply.code(503).type('text/plain').send(NOT_BUILT)
        reply.headers({
          'content-security-policy': PAGE_POLICY,
          'referrer-policy': 'no-referrer',
          'cross-origin-opener-policy': 'same-origin',
          // Browsers ask each time, so a new release never meets an old page.
          'cache-control': 'no-cache',
        })
        const [path = ''] = request.url.split('?')
        return reply.type('text/html; charset=utf-8').send(pageAt(page, path))
      }
      scope.get('/console', { config, exposeHeadRoute: true }, sendPage)
      // The page itself knows which of its addresses there are.
      scope.get('/console/*', { config, exposeHeadRoute: true }, sendPage)
      // A person who opens the bare address wants the console. Programs get the 404 of an unknown
      // path.
      scope.get('/', { config, exposeHeadRoute: true }, (request, reply) => {
        reply.header('vary', 'accept')
        if (!/\btext\/html\b/.test(request.headers.accept ?? '')) {
          notFoundHandler(request, reply)
        } else reply.redirect('console', 302)
      })
      scope.get('/console/', { config }, (_request, reply) => reply.redirect('../console', 308))
      // Names change with the contents, so browsers keep them for good.
      await scope.register(fastifyStatic, {
        root: `${DIST}assets`,
        serve: false,
        preCompressed: true,
        immutable: true,
        maxAge: '365d',
      })
      scope.get<{ Params: { name: string } }>(
        '/console/assets/:name',
        { config: { operation: 'console.asset', access: ANYONE }, exposeHeadRoute: true },
        (request, reply) => {
          const { name } = request.params
          return NAME.test(name) ? reply.sendFile(name) : notFoundHandler(request, reply)
        },
      )
    })
  },
  { name: 'console', dependencies: ['auth'], fastify: '5.x' },
)

/** The files that `build.mjs` makes. */
const DIST = fileURLToPath(new URL('./dist/', import.meta.url))

/** The HTML page of the console as it was built; null if it was not. */
async function readPage(): Promise<string | null> {
  try {
    return await readFile(`${DIST}index.html`, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * The page for an address of the console. Its files have relative addresses, so that a proxy may
 * serve the service under any path: they begin as far up as the address is deep.
 *
 * @param path of the request, such as `/console/deployments/dep_1`
 */
function pageAt(page: string, path: string): string {
  const depth = path.split('/').length - 2
  const folder = depth === 0 ? 'console/assets/' : `${'../'.repeat(depth - 1)}assets/`
  return page.replaceAll('"./assets/', `"${folder}`)
}

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
const sessionRoutes: FastifyPluginAsyncTypebox<SessionRouteOptions> = async (
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
