import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import packageJson from '../../package.json' with { type: 'json' }
import { TAGS } from '../../schemas/docs/operation-doc.ts'
import type { ErrorCode } from '../errors.ts'
import { type Components, extractSchemas, isJson, type Json } from './components.ts'
import { errorResponse, errorResponseName } from './errors.ts'
import { type OperationFacts, operationOf } from './operation.ts'

export interface DocumentOptions {
  /** Base of the operations' URLs; null: where the document was read from. */
  readonly publicUrl: string | null
  /** Whether the service holds its callers to a quota. */
  readonly hasQuota: boolean
}

const SECURITY_SCHEMES = {
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'Of a member of the team: `access_token` of signing in, in force for an hour.',
  },
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'Of a server: `key` of creating an API key. It has no end, but can be revoked.',
  },
} as const

const INTRODUCTION = `Hosts credit-risk scorecards and scores applicants against them.

A member of a team signs in, deploys a scorecard and creates an API key; a server scores with the key.
Both send their secret as \`Authorization: Bearer …\`.

- **Errors** have one body. \`error\` is a stable code, \`request_id\` equals the header \`X-Request-Id\`.
- **Lists** hold everything, newest first. \`limit\` and \`cursor\` page them: go on with \`next_cursor\` until there is none.
- **Times** are ISO 8601 in UTC with milliseconds.
- What belongs to another team answers as if it did not exist.`

const HEADERS = {
  'X-Request-Id': {
    required: true,
    description: 'Names the request, as the log does',
    schema: { type: 'string', pattern: '^req_[0-9A-Za-z]+$' },
  },
  'X-RateLimit-Limit': {
    required: true,
    description: 'Requests that the caller may make in any 60 seconds',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-RateLimit-Remaining': {
    required: true,
    description: 'Requests that are left to the caller now',
    schema: { type: 'integer', minimum: 0 },
  },
  'Retry-After': {
    required: true,
    description: 'Seconds to wait before the next try',
    schema: { type: 'integer', minimum: 1 },
  },
} as const

/** How @fastify/swagger makes the document of the routes that it is told of. */
export function documentOptions(options: DocumentOptions): FastifyDynamicSwaggerOptions {
  const factsById = new Map<string, OperationFacts>()
  return {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Scoreline', version: packageJson.version, description: INTRODUCTION },
      servers: [{ url: options.publicUrl ?? '/' }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      components: { securitySchemes: SECURITY_SCHEMES },
    },
    stripBasePath: false,
    convertConstToEnum: false,
    transform: ({ schema, url, route }) => {
      if (schema?.hide === true) return { schema, url }
      const { id, schema: transformed, facts } = operationOf(route)
      factsById.set(id, facts)
      return { schema: transformed, url }
    },
    transformObject: (document) => {
      // Only OpenAPI 3 is asked for above.
      const { openapiObject } = document as { openapiObject: Json }
      return completed(openapiObject, factsById, options)
    },
  }
}

/** Adds what a route's schema can't say, and names what is used again. */
function completed(
  document: Json,
  factsById: ReadonlyMap<string, OperationFacts>,
  { hasQuota }: DocumentOptions,
): Json {
  const responses: Record<string, Json> = {}
  const errorOf = (codes: readonly ErrorCode[], isMetered: boolean): Json => {
    const response = withHeaders(errorResponse(codes), isMetered)
    // Only the answers that most operations share are worth a name.
    if (isMetered !== hasQuota) return response
    const name = errorResponseName(codes)
    responses[name] = response
    return { $ref: `#/components/responses/${name}` }
  }
  const complete = ({ requestBody, ...operation }: Json): Json => {
    const facts = factsById.get(String(operation['operationId']))
    if (facts === undefined) throw new TypeError(`${operation['operationId']} is of no route`)
    const isMetered = hasQuota && facts.hasQuota
    const required = !facts.isBodyOptional
    const errors = [...facts.codesByStatus].map(
      ([status, codes]) => [status, errorOf(codes, isMetered)] as const,
    )
    const successes = mapValues(operation['responses'], (one) => withHeaders(one, isMetered))
    return {
      ...operation,
      ...(isJson(requestBody) && { requestBody: { ...requestBody, required } }),
      responses: { ...successes, ...Object.fromEntries(errors) },
    }
  }
  const paths = mapValues(document['paths'], (path) => mapValues(path, complete))
  const schemas: Components = new Map()
  const named = extractSchemas({ paths, responses }, schemas) as Record<string, Json>
  return {
    ...document,
    paths: named['paths'],
    components: {
      schemas: sorted([...schemas]),
      responses: sorted(Object.entries(named['responses'] ?? {})),
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  }
}

function withHeaders(response: Json, isMetered: boolean): Json {
  const quota = isMetered ? ['X-RateLimit-Limit', 'X-RateLimit-Remaining'] : []
  const references = ['X-Request-Id', ...quota].map((name) => [
    name,
    { $ref: `#/components/headers/${name}` },
  ])
  const own = isJson(response['headers']) ? response['headers'] : {}
  return { ...response, headers: { ...Object.fromEntries(references), ...own } }
}

function mapValues(value: unknown, change: (value: Json) => Json): Json {
  const entries = Object.entries(isJson(value) ? value : {})
  return Object.fromEntries(entries.map(([key, one]) => [key, change(one as Json)]))
}

function sorted(entries: readonly (readonly [string, unknown])[]): Json {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)))
}
