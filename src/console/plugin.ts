import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { ANYONE } from '../auth/caller.ts'
import type { AuthService } from '../auth/service.ts'
import { notFoundHandler } from '../http/not-found.ts'
import { type Asset, type ConsoleFiles, readConsole } from './assets.ts'
import { sessionRoutes } from './routes.ts'

interface ConsoleOptions {
  readonly auth: AuthService
  readonly publicUrl: string | null
}

/** The page runs what the service itself serves, speaks to the service alone, and is framed by nobody. */
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
 * Serves the console at `/console` to anyone; what it shows it asks the API for, as its user. Its routes
 * are part of the address' quota, as those of the documentation are, and of no API.
 */
export const consolePlugin = fastifyPlugin<ConsoleOptions>(
  async (app, { auth, publicUrl }) => {
    let files: ConsoleFiles | null = null
    const made = () => {
      files ??= readConsole()
      return files
    }
    // Before the first score rather than with the first look at the console.
    app.addHook('onListen', (done) => {
      made()
      done()
    })

    await app.register(async (scope) => {
      scope.addHook('onRoute', (route) => {
        route.schema = { ...route.schema, hide: true }
      })
      scope.addHook('onSend', (_request, reply, _payload, done) => {
        reply.header('x-content-type-options', 'nosniff')
        done()
      })
      await scope.register(sessionRoutes, { auth, publicUrl })

      const config = { operation: 'console.page', access: ANYONE } as const
      scope.get('/console', { config, exposeHeadRoute: true }, (request, reply) => {
        const { page, pageVersion } = made()
        reply.headers({
          'content-security-policy': PAGE_POLICY,
          'referrer-policy': 'no-referrer',
          'cross-origin-opener-policy': 'same-origin',
          // Asked for anew each time, answered by 304: a new release must not meet an old page.
          'cache-control': 'no-cache',
        })
        send(request, reply, page, pageVersion)
      })
      scope.get('/console/', { config }, (_request, reply) => reply.redirect('../console', 308))
      scope.get<{ Params: { version: string; name: string } }>(
        '/console/assets/:version/:name',
        { config: { operation: 'console.asset', access: ANYONE }, exposeHeadRoute: true },
        (request, reply) => {
          const { version, assets } = made()
          const { params } = request
          const asset = params.version === version ? assets.get(params.name) : undefined
          if (asset === undefined) return notFoundHandler(request, reply)
          reply.header('cache-control', `public, max-age=${YEAR_SEC}, immutable`)
          send(request, reply, asset, version)
        },
      )
    })
  },
  { name: 'console', dependencies: ['auth'], fastify: '5.x' },
)

/** Sends an asset in the form that the browser takes, or tells that it has it already. */
function send(
  { headers }: Pick<FastifyRequest, 'headers'>,
  reply: FastifyReply,
  asset: Asset,
  version: string,
): void {
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(
    headers['accept-encoding'] ?? '',
  )
  // One tag for each form: they differ in their bytes.
  const tag = takesGzip ? `"${version}-gzip"` : `"${version}"`
  reply.headers({ vary: 'accept-encoding', etag: tag })
  const known = (headers['if-none-match'] ?? '').split(',').map((one) => one.trim())
  if (known.includes(tag) || known.includes(`W/${tag}`)) {
    reply.code(304).send()
    return
  }
  reply.type(asset.contentType)
  if (takesGzip) reply.header('content-encoding', 'gzip').send(asset.gzipped)
  else reply.send(asset.plain)
}
