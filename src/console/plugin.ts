import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { ANYONE } from '../http/access/caller.ts'
import { notFoundHandler } from '../http/not-found.ts'
import type { SignOnService } from '../identity/auth/oidc/service.ts'
import type { AuthService } from '../identity/auth/service.ts'
import { sessionRoutes } from './routes.ts'
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
