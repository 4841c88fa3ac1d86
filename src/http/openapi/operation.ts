import type { FastifyContextConfig, FastifySchema, RouteOptions } from 'fastify'
import {
  IDEMPOTENCY_ERRORS,
  IDEMPOTENCY_HEADERS,
  IDEMPOTENT_CHANGE_ERRORS,
} from '../../../schemas/docs/idempotency.ts'
import type { OperationDoc, ParamDoc } from '../../../schemas/docs/operation-doc.ts'
import { DOCS } from '../../../schemas/docs.ts'
import { ErrorBody } from '../../../schemas/errors.ts'
import type { ErrorCode } from '../../errors.ts'
import { type Access, ROLES } from '../access/caller.ts'
import { isJson, type Json } from './components.ts'
import { codesByStatus } from './errors.ts'
import { withNames } from './names.ts'

/** Facts about a route that @fastify/swagger can't read from its schema. */
export interface OperationFacts {
  readonly isBodyOptional: boolean
  /** True if its responses have the quota headers. */
  readonly hasQuota: boolean
  /**
   * True if it takes an `Idempotency-Key`, and its successes may have the headers that go with it.
   */
  readonly isIdempotent: boolean
  readonly codesByStatus: ReadonlyMap<number, readonly ErrorCode[]>
  /** Content types of a body that is a file, each with an example; empty for any other body. */
  readonly files: Readonly<Record<string, string>>
}

interface Operation {
  readonly id: string
  /** Schema for @fastify/swagger, without the error responses. */
  readonly schema: FastifySchema
  readonly facts: OperationFacts
}

const SECURITY: Readonly<Record<Access['by'], readonly Record<string, readonly string[]>[]>> = {
  anyone: [],
  key: [{ apiKey: [] }],
  user: [{ accessToken: [] }],
  'user-or-key': [{ accessToken: [] }, { apiKey: [] }],
}

/**
 * Combines the schema, the configuration and the documentation of a route.
 *
 * @throws TypeError if they contradict each other
 */
export function findOperation({ config = {}, schema = {}, url }: RouteOptions): Operation {
  const { operation: id, access } = config
  const doc = findDoc(id)
  if (id === undefined || access === undefined || doc === null) {
    throw new TypeError(`the route ${url} is not documented`)
  }
  const { params, querystring, response } = schema as Readonly<Record<string, unknown>>
  const answers = Object.entries(response ?? { 200: null }).map(
    ([status, body]) => [Number(status), body] as const,
  )
  const errors = answers.filter(([, answer]) => answer === ErrorBody)
  const body = doc.body ?? schema.body
  const isIdempotent = config.takesIdempotencyKey === true
  const headers = isIdempotent ? { ...doc.headers, ...IDEMPOTENCY_HEADERS } : doc.headers
  return {
    id,
    schema: {
      operationId: id,
      tags: [doc.tag],
      summary: doc.summary,
      description: `${doc.description}\n\n**Caller:** ${callerText(access)}.`,
      security: SECURITY[access.by],
      ...(params !== undefined && { params: withParamDocs(params, doc.params ?? {}) }),
      ...(headers && { headers: makeHeaders(headers) }),
      ...(querystring !== undefined && { querystring: makeQuery(withNames(querystring)) }),
      ...(body !== undefined && { body: { ...readObject(withNames(body)), ...bodyExamples(doc) } }),
      response: Object.fromEntries(
        answers
          .filter((answer) => !errors.includes(answer))
          .map(([status, schema]) => [status, makeAnswer(id, doc, status, schema)]),
      ),
    },
    facts: {
      isBodyOptional: config.isBodyOptional === true,
      hasQuota: !('rateLimit' in config) || config.rateLimit !== false,
      isIdempotent,
      files: doc.files ?? {},
      codesByStatus: codesByStatus(
        id,
        errors.map(([status]) => status),
        access,
        [...(doc.errors ?? []), ...(isIdempotent ? idempotencyErrors(config) : [])],
      ),
    },
  }
}

function findDoc(operation: string | undefined): OperationDoc | null {
  if (operation === undefined || !Object.hasOwn(DOCS, operation)) return null
  return DOCS[operation as keyof typeof DOCS]
}

/** Returns the errors of a key: the log has what the answer to a single score is made of. */
function idempotencyErrors({ keyedScore }: FastifyContextConfig): readonly ErrorCode[] {
  return keyedScore === undefined ? IDEMPOTENT_CHANGE_ERRORS : IDEMPOTENCY_ERRORS
}

function callerText(access: Access): string {
  const key = (scope: string) => `an API key with the scope \`${scope}\``
  if (access.by === 'anyone') return 'anyone'
  if (access.by === 'key') return key(access.scope)
  if (access.by === 'user-or-key' && access.roles === undefined) {
    const other = access.orScope === undefined ? '' : ` or \`${access.orScope}\``
    return `any member of the team, or ${key(access.scope)}${other}`
  }
  if (access.by === 'user-or-key') return `${roleText(access.roles)}, or ${key(access.scope)}`
  if (access.roles.length === ROLES.length) return 'any member of the team'
  return roleText(access.roles)
}

function roleText(roles: readonly string[] = []): string {
  return `a member with the role ${roles.map((role) => `\`${role}\``).join(' or ')}`
}

/** @throws TypeError if a path parameter is not documented, or a documented one does not exist */
function withParamDocs(schema: unknown, docs: Readonly<Record<string, ParamDoc>>): Json {
  const params = readObject(schema)
  const properties = readObject(params['properties'])
  const names = Object.keys(properties)
  if (names.sort().join() !== Object.keys(docs).sort().join()) {
    throw new TypeError(
      `the path has the parameters ${names}, but ${Object.keys(docs)} are documented`,
    )
  }
  return {
    ...params,
    properties: Object.fromEntries(
      Object.entries(docs).map(([name, { description, example }]) => [
        name,
        { ...readObject(properties[name]), description, examples: [example] },
      ]),
    ),
  }
}

/** Documents a repeatable parameter as a list: in a URL one value and a list look the same. */
function makeQuery(schema: unknown): Json {
  const query = readObject(schema)
  const properties = Object.entries(readObject(query['properties'])).map(([name, property]) => {
    const { anyOf, ...rest } = readObject(property)
    const list = Array.isArray(anyOf) ? anyOf.find((one) => one.type === 'array') : undefined
    return [name, list === undefined ? property : { ...list, ...rest }]
  })
  return { ...query, properties: Object.fromEntries(properties) }
}

function makeHeaders(docs: Readonly<Record<string, ParamDoc>>): Json {
  const properties = Object.entries(docs).map(([name, { description, example }]) => [
    name,
    // Not as an example: a page fills that in, and the second try would be another application.
    { type: 'string', description: `${description}. For example \`${example}\`` },
  ])
  return { type: 'object', properties: Object.fromEntries(properties) }
}

/** Uses keys that are valid file names, because some tools create files from them. */
function bodyExamples({ request = {} }: OperationDoc): Json {
  const examples = Object.entries(request).map(([summary, value]) => [
    summary.toLowerCase().replace(/\W+/g, '-'),
    { summary, value },
  ])
  return { 'x-examples': Object.fromEntries(examples) }
}

/** Media types of a whole text of JSON. */
const JSON_TYPES = /[/+]json$/

/** @throws TypeError if the response is not documented */
function makeAnswer(operation: string, doc: OperationDoc, status: number, schema: unknown): Json {
  const documented = doc.others?.[status] ?? (status < 400 ? doc.success : undefined)
  if (documented === undefined) {
    throw new TypeError(`${operation} does not document its response ${status}`)
  }
  const { description, example, mediaType = 'application/json' } = documented
  if (isJson(schema) && schema['type'] === 'null') return { type: 'null', description }
  const media = {
    schema: JSON_TYPES.test(mediaType) ? withNames(schema) : { type: 'string' },
    ...(example !== undefined && { example }),
  }
  const files = Object.entries(documented.texts ?? {}).map(([type, text]) => [
    type,
    { schema: { type: 'string', format: 'binary' }, example: text },
  ])
  // Files first: many generators use only the first content type, and a client can read any
  // response as a file, but not every response as JSON.
  const content = { ...Object.fromEntries(files), [mediaType]: media }
  const headers = documented.headers && makeHeaders(documented.headers)['properties']
  return { description, ...(headers !== undefined && { headers }), content }
}

function readObject(value: unknown): Json {
  if (!isJson(value)) throw new TypeError('this part of a schema must be an object')
  return value
}
