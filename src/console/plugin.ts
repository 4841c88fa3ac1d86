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
      scope.get('/console', { config }, (request, reply) => {
        const { page, pageTag } = made()
        reply.headers({
          'content-security-policy': PAGE_POLICY,
          'referrer-policy': 'no-referrer',
          'cross-origin-opener-policy': 'same-origin',
          // Asked for anew each time, answered by 304: a new release must not meet an old page.
          'cache-control': 'no-cache',
          etag: pageTag,
        })
        if (request.headers['if-none-match'] === pageTag) reply.code(304).send()
        else send(reply, page, request.headers['accept-encoding'])
      })
      scope.get('/console/', { config }, (_request, reply) => reply.redirect('../console', 308))
      scope.get<{ Params: { version: string; name: string } }>(
        '/console/assets/:version/:name',
        { config: { operation: 'console.asset', access: ANYONE } },
        (request, reply) => {
          const { version, assets } = made()
          const { params, headers } = request
          const asset = params.version === version ? assets.get(params.name) : undefined
          if (asset === undefined) return notFoundHandler(request, reply)
          reply.header('cache-control', `public, max-age=${YEAR_SEC}, immutable`)
          reply.header('etag', `"${version}"`)
          if (headers['if-none-match'] === `"${version}"`) reply.code(304).send()
          else send(reply, asset, headers['accept-encoding'])
        },
      )
    })
  },
  { name: 'console', dependencies: ['auth'], fastify: '5.x' },
)

interface Sender {
  header(name: string, value: string): Sender
  type(contentType: string): Sender
  send(payload: Buffer): unknown
}

function send(reply: Sender, asset: Asset, accepted: string | undefined): void {
  reply.type(asset.contentType).header('vary', 'accept-encoding')
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(accepted ?? '')
  if (takesGzip) reply.header('content-encoding', 'gzip').send(asset.gzipped)
  else reply.send(asset.plain)
}
