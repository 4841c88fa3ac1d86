import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { ANYONE } from '../access/caller.ts'
import type { SignOnService } from '../auth/oidc/service.ts'
import type { AuthService } from '../auth/service.ts'
import { notFoundHandler } from '../http/not-found.ts'
import type { Asset } from './assets.ts'
import { openConsoleFiles } from './files-thread.ts'
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
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
const YEAR_SEC = 31_536_000

/**
 * Serves the console at `/console` to anyone and redirects browsers there from `/`. The page reads
 * all data from the API as its user. Its routes count against the quota of the client's address,
 * like those of the documentation, and are not part of the API.
 */
export const consolePlugin = fastifyPlugin<ConsoleOptions>(
  async (app, { auth, signOn, publicUrl }) => {
    const files = openConsoleFiles()
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
      scope.get('/console', { config, exposeHeadRoute: true }, async (request, reply) => {
        const { page, pageVersion } = await files()
        reply.headers({
          'content-security-policy': PAGE_POLICY,
          'referrer-policy': 'no-referrer',
          'cross-origin-opener-policy': 'same-origin',
          // Browsers revalidate each time and get a 304, so a new release never meets an old page.
          'cache-control': 'no-cache',
        })
        return send(request, reply, page, pageVersion)
      })
      // A person who opens the bare address wants the console. Programs get the 404 of an unknown
      // path.
      scope.get('/', { config, exposeHeadRoute: true }, (request, reply) => {
        reply.header('vary', 'accept')
        if (!/\btext\/html\b/.test(request.headers.accept ?? '')) {
          notFoundHandler(request, reply)
        } else reply.redirect('console', 302)
      })
      scope.get('/console/', { config }, (_request, reply) => reply.redirect('../console', 308))
      scope.get<{ Params: { version: string; name: string } }>(
        '/console/assets/:version/:name',
        { config: { operation: 'console.asset', access: ANYONE }, exposeHeadRoute: true },
        async (request, reply) => {
          const { version, assets } = await files()
          const { params } = request
          const asset = params.version === version ? assets.get(params.name) : undefined
          if (asset === undefined) return notFoundHandler(request, reply)
          reply.header('cache-control', `public, max-age=${YEAR_SEC}, immutable`)
          return send(request, reply, asset, version)
        },
      )
    })
  },
  { name: 'console', dependencies: ['auth'], fastify: '5.x' },
)

/** Sends an asset in an encoding that the browser accepts, or 304 if the browser has it. */
function send(
  { headers }: Pick<FastifyRequest, 'headers'>,
  reply: FastifyReply,
  asset: Asset,
  version: string,
): FastifyReply {
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(
    headers['accept-encoding'] ?? '',
  )
  // One tag for each encoding, because their bytes differ.
  const tag = takesGzip ? `"${version}-gzip"` : `"${version}"`
  reply.headers({ vary: 'accept-encoding', etag: tag })
  const known = (headers['if-none-match'] ?? '').split(',').map((one) => one.trim())
  if (known.includes(tag) || known.includes(`W/${tag}`)) {
    return reply.code(304).send()
  }
  reply.type(asset.contentType)
  if (!takesGzip) return reply.send(asset.plain)
  return reply.header('content-encoding', 'gzip').send(asset.gzipped)
}
