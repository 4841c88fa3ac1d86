import { createHash } from 'node:crypto'
import fastifySwagger from '@fastify/swagger'
import fastifySwaggerUi from '@fastify/swagger-ui'
import fastifyPlugin from 'fastify-plugin'
import { ANYONE } from '../access/caller.ts'
import { JSON_TYPE } from '../reply.ts'
import type { Json } from './components.ts'
import { type DocumentOptions, documentOptions } from './document.ts'
import { asVersion30 } from './version-3-0.ts'

/**
 * The page runs scripts of this service only, connects to this service only, and can't be framed.
 */
const PAGE_POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  // Swagger UI writes style attributes.
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
}

const FORMS: Readonly<Record<string, (document: Json) => Json>> = {
  '/openapi.json': (document) => document,
  '/openapi-3.0.json': asVersion30,
}

/**
 * Serves the OpenAPI document of all routes registered after this plugin at `/openapi.json`, as
 * version 3.0 at `/openapi-3.0.json`, and a page that shows it at `/docs`, to anyone. The first
 * request creates the document.
 */
export const openapiPlugin = fastifyPlugin<DocumentOptions>(
  async (app, options) => {
    await app.register(fastifySwagger, documentOptions(options))
    const made = new Map<string, ReturnType<typeof formatText>>()

    await app.register(async (scope) => {
      scope.addHook('onRoute', (route) => {
        const operation = `docs.${route.url.replace(/\W+/g, '_').replace(/^_|_$/g, '')}` as const
        route.config = { ...route.config, operation, access: ANYONE }
        route.schema = { ...route.schema, hide: true }
      })
      scope.addHook('onSend', (_request, reply, _payload, done) => {
        // Browsers revalidate each time and get a 304, so a new release never meets an old page.
        reply.header('cache-control', 'no-cache')
        reply.header('x-content-type-options', 'nosniff')
        done()
      })

      for (const [url, form] of Object.entries(FORMS)) {
        scope.get(url, (request, reply) => {
          const { text, tag } = made.get(url) ?? formatText(form(app.swagger() as unknown as Json))
          made.set(url, { text, tag })
          reply.header('etag', tag)
          if (request.headers['if-none-match'] === tag) reply.code(304).send()
          else reply.type(JSON_TYPE).send(text)
        })
      }
      await scope.register(fastifySwaggerUi, {
        routePrefix: '/docs',
        staticCSP: PAGE_POLICY,
        theme: { title: 'Scoreline API' },
        // A page with a single document needs no bar to choose one.
        uiConfig: { layout: 'BaseLayout', deepLinking: true, validatorUrl: null, filter: true },
      })
    })
  },
  { name: 'openapi', dependencies: ['auth'], fastify: '5.x' },
)

function formatText(document: object): { text: string; tag: string } {
  const text = JSON.stringify(document)
  return { text, tag: `"${createHash('sha256').update(text).digest('base64url')}"` }
}
