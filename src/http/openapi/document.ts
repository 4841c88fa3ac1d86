import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import { TAGS } from '../../../schemas/docs/operation-doc.ts'
import type { ErrorCode } from '../../errors.ts'
import { VERSION } from '../../platform/version.ts'
import {
  type Components,
  extractSchemas,
  isJson,
  type Json,
  nameSharedValues,
} from './components.ts'
import { errorResponse, errorResponseName } from './errors.ts'
import { findOperation, type OperationFacts } from './operation.ts'

export interface DocumentOptions {
  /** Base of the operations' URLs; null means the address that served the document. */
  readonly publicUrl: string | null
}

const SECURITY_SCHEMES = {
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'Access token of a team member: `access_token` from signing in, valid for one hour. The token `sa_…` of a service account is accepted in its place.',
  },
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description:
      'Secret of a server: `key` from creating an API key. It ends with its `expires_at`, if it has one, and can be rotated and revoked.',
  },
} as const

const INTRODUCTION = `Hosts credit-risk scorecards and scores applicants against them.

A member of a team signs in, deploys a scorecard and creates an API key; a server scores with the key.
Both send their secret as \`Authorization: Bearer …\`.

- **Errors** all have the same body. \`error\` is a stable code, \`request_id\` equals the header \`X-Request-Id\`.
- **Any operation** may also answer 405 to a method that its path does not have (header \`Allow\`, code \`not_found\`) and 408 to a request that does not arrive in time (code \`invalid_request\`).
- **Lists** contain all items, newest first. To read them in pages, send \`limit\`, then each \`next_cursor\` as \`cursor\` until a response has none.
- **Times** are ISO 8601 in UTC with milliseconds.
- **Teams** are separate: objects of another team answer 404.`

const HEADERS = {
  'X-Request-Id': {
    required: true,
    description: 'Id of the request, also in the log of the service',
    schema: { type: 'string', pattern: '^req_[0-9A-Za-z]+$' },
  },
  'X-RateLimit-Limit': {
    required: true,
    description: 'Maximum number of requests of the caller in any 60 seconds',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-RateLimit-Remaining': {
    required: true,
    description: 'Number of requests that the caller has left',
    schema: { type: 'integer', minimum: 0 },
  },
  'Retry-After': {
    required: true,
    description: 'Seconds to wait before the next request',
    schema: { type: 'integer', minimum: 1 },
  },
  'Idempotent-Replayed': {
    required: false,
    description:
      'Present if this is the answer to an earlier request with the same `Idempotency-Key`, given again. `X-Request-Id` is that of the earlier request',
    schema: { type: 'string', enum: ['true'] },
  },
  'Idempotency-Kept': {
    required: false,
    description:
      'Present if the request was executed but its answer could not be kept: a retry with the same `Idempotency-Key` is executed again',
    schema: { type: 'string', enum: ['false'] },
  },
} as const
/** Headers of the successes of operations that take an `Idempotency-Key`. */
const IDEMPOTENCY_HEADERS = ['Idempotent-Replayed', 'Idempotency-Kept'] as const

/** Options for @fastify/swagger, which builds the document from the registered routes. */
export function documentOptions(options: DocumentOptions): FastifyDynamicSwaggerOptions {
  const factsById = new Map<string, OperationFacts>()
  return {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Scoreline', version: VERSION, description: INTRODUCTION },
      servers: [{ url: options.publicUrl ?? '/' }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      components: { securitySchemes: SECURITY_SCHEMES },
    },
    stripBasePath: false,
    convertConstToEnum: false,
    transform: ({ schema, url, route }) => {
      if (schema?.hide === true) return { schema, url }
      const { id, schema: transformed, facts } = findOperation(route)
      factsById.set(id, facts)
      return { schema: transformed, url }
    },
    transformObject: (document) => {
      // The options above request OpenAPI 3 only.
      const { openapiObject } = document as { openapiObject: Json }
      return completed(openapiObject, factsById)
    },
  }
}

/** Adds headers and errors, which route schemas cannot express, and extracts shared components. */
function completed(document: Json, factsById: ReadonlyMap<string, OperationFacts>): Json {
  const responses: Record<string, Json> = {}
  const makeError = (codes: readonly ErrorCode[], isMetered: boolean): Json => {
    const response = withHeaders(errorResponse(codes), isMetered)
    // Only responses that most operations share become components.
    if (!isMetered) return response
    const name = errorResponseName(codes)
    responses[name] = response
    return { $ref: `#/components/responses/${name}` }
  }
  const complete = ({ requestBody, ...operation }: Json): Json => {
    const facts = factsById.get(String(operation['operationId']))
    if (facts === undefined) throw new TypeError(`${operation['operationId']} has no route`)
    const isMetered = facts.hasQuota
    const required = !facts.isBodyOptional
    const errors = [...facts.codesByStatus].map(
      ([status, codes]) => [status, makeError(codes, isMetered)] as const,
    )
    const added = facts.isIdempotent ? IDEMPOTENCY_HEADERS : []
    const successes = mapValues(operation['responses'], (one) => withHeaders(one, isMetered, added))
    return {
      ...operation,
      ...(isJson(requestBody) && { requestBody: { ...requestBody, required } }),
      ...(Object.keys(facts.files).length > 0 && { requestBody: fileBody(facts.files) }),
      responses: {
        ...successes,
        ...Object.fromEntries(errors),
        // Before any route is known.
        431: makeError(['invalid_request'], isMetered),
      },
    }
  }
  const paths = mapValues(document['paths'], (path) => mapValues(path, complete))
  const schemas: Components = new Map()
  const named = extractSchemas({ paths, responses }, schemas) as Record<string, Json>
  nameSharedValues(schemas)
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

function withHeaders(
  response: Json,
  isMetered: boolean,
  added: readonly (keyof typeof HEADERS)[] = [],
): Json {
  const quota = isMetered ? ['X-RateLimit-Limit', 'X-RateLimit-Remaining'] : []
  const references = ['X-Request-Id', ...quota, ...added].map((name) => [
    name,
    { $ref: `#/components/headers/${name}` },
  ])
  const own = isJson(response['headers']) ? response['headers'] : {}
  return { ...response, headers: { ...Object.fromEntries(references), ...own } }
}

/** @fastify/swagger documents no body for a route that reads it as a stream. */
function fileBody(files: Readonly<Record<string, string>>): Json {
  const content = Object.entries(files).map(([type, example]) => [
    type,
    { schema: { type: 'string', format: 'binary' }, example },
  ])
  return { required: true, content: Object.fromEntries(content) }
}

function mapValues(value: unknown, change: (value: Json) => Json): Json {
  const entries = Object.entries(isJson(value) ? value : {})
  return Object.fromEntries(entries.map(([key, one]) => [key, change(one as Json)]))
}

function sorted(entries: readonly (readonly [string, unknown])[]): Json {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)))
}
