import { createHash } from 'node:crypto'
import fastifySwagger from '@fastify/swagger'
import fastifySwaggerUi from '@fastify/swagger-ui'
import fastifyPlugin from 'fastify-plugin'
import { ANYONE } from '../access/caller.ts'
import { JSON_TYPE } from '../reply.ts'
import { isJson, type Json } from './components.ts'
import { type DocumentOptions, documentOptions } from './document.ts'

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

/** Values of these keys are data and contain no schemas. */
const DATA = new Set(['example', 'default', 'enum'])
/** Keys of these maps are names, whatever they are called. */
const MAPS = new Set(['properties', 'examples', 'headers', 'responses', 'schemas', 'content'])
/** Keywords of JSON Schema 2020-12 that OpenAPI 3.0 does not have; each only narrows a schema. */
const UNKNOWN = new Set(['patternProperties', 'propertyNames', 'unevaluatedProperties', '$schema'])

/**
 * Writes an OpenAPI 3.1 document as 3.0, for generators and gateways that refuse 3.1.
 *
 * Null becomes `nullable`, a constant an enum of one value, and what 3.0 can't say is left out: the
 * service still checks it.
 */
function asVersion30(document: Json): Json {
  return { ...(converted(document) as Json), openapi: '3.0.3' }
}

function converted(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(converted)
  if (!isJson(part)) return part
  const entries = Object.entries(part).flatMap(([key, value]) => {
    if (UNKNOWN.has(key)) return []
    if (DATA.has(key)) return [[key, value]]
    if (MAPS.has(key) && isJson(value)) return [[key, mapped(value)]]
    return [[key, converted(value)]]
  })
  return withoutSiblings(withBounds(withNullable(Object.fromEntries(entries))))
}

function mapped(map: Json): Json {
  return Object.fromEntries(Object.entries(map).map(([name, one]) => [name, converted(one)]))
}

function isNull(schema: unknown): boolean {
  return isJson(schema) && schema['type'] === 'null'
}

function withNullable(schema: Json): Json {
  const { type, anyOf, oneOf, const: constant, examples, ...rest } = schema
  const [example] = Array.isArray(examples) ? examples : []
  const plain: Json = {
    ...rest,
    ...(isJson(examples) && { examples }),
    ...(example !== undefined && { example }),
    ...(constant !== undefined && { enum: [constant] }),
  }
  if (Array.isArray(type)) {
    const types = type.filter((one) => one !== 'null')
    const nullable = types.length < type.length && { nullable: true }
    if (types.length === 1) return { ...plain, type: types[0], ...nullable }
    return { ...plain, anyOf: types.map((one) => ({ type: one })), ...nullable }
  }
  for (const [key, choice] of Object.entries({ anyOf, oneOf })) {
    if (!Array.isArray(choice)) continue
    const others = choice.filter((one) => !isNull(one))
    const nullable = others.length < choice.length && { nullable: true }
    const [only] = others
    if (others.length > 1 || !isJson(only)) return { ...plain, [key]: others, ...nullable }
    const inner = '$ref' in only ? { allOf: [only] } : only
    return { ...inner, ...plain, ...nullable }
  }
  return type === undefined ? plain : { ...plain, type }
}

/** In 3.0 an open bound is a bound with a mark. */
function withBounds(schema: Json): Json {
  const { exclusiveMinimum, exclusiveMaximum, ...rest } = schema
  return {
    ...rest,
    ...(typeof exclusiveMinimum === 'number' && {
      minimum: exclusiveMinimum,
      exclusiveMinimum: true,
    }),
    ...(typeof exclusiveMaximum === 'number' && {
      maximum: exclusiveMaximum,
      exclusiveMaximum: true,
    }),
  }
}

/** Beside a reference 3.0 ignores everything. */
function withoutSiblings(schema: Json): Json {
  const { $ref, ...rest } = schema
  if ($ref === undefined || Object.keys(rest).length === 0) return schema
  return { ...rest, allOf: [{ $ref }] }
}
