import type { FastifySchema, RouteOptions } from 'fastify'
import type { OperationDoc, ParamDoc } from '../../schemas/docs/operation-doc.ts'
import { DOCS } from '../../schemas/docs.ts'
import { ErrorBody } from '../../schemas/errors.ts'
import { type Access, ROLES } from '../auth/caller.ts'
import type { ErrorCode } from '../errors.ts'
import { isJson, type Json } from './components.ts'
import { codesByStatus } from './errors.ts'
import { withNames } from './names.ts'

/** What the document needs of a route beside what @fastify/swagger reads from its schema. */
export interface OperationFacts {
  readonly isBodyOptional: boolean
  /** Whether its answers tell the caller's quota. */
  readonly hasQuota: boolean
  readonly codesByStatus: ReadonlyMap<number, readonly ErrorCode[]>
}

export interface Operation {
  readonly id: string
  /** As @fastify/swagger reads it; the errors are left out. */
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
 * Tells of a route what its schema, its configuration and its documentation say.
 *
 * @throws TypeError when the three do not fit together
 */
export function operationOf({ config = {}, schema = {}, url }: RouteOptions): Operation {
  const { operation: id, access } = config
  const doc = docOf(id)
  if (id === undefined || access === undefined || doc === null) {
    throw new TypeError(`the route ${url} is not documented`)
  }
  const { params, querystring, response } = schema as Readonly<Record<string, unknown>>
  const answers = Object.entries(response ?? { 200: null }).map(
    ([status, body]) => [Number(status), body] as const,
  )
  const errors = answers.filter(([, answer]) => answer === ErrorBody)
  const body = doc.body ?? schema.body
  return {
    id,
    schema: {
      operationId: id,
      tags: [doc.tag],
      summary: doc.summary,
      description: `${doc.description}\n\n**Caller:** ${callerText(access)}.`,
      security: SECURITY[access.by],
      ...(params !== undefined && { params: withParamDocs(params, doc.params ?? {}) }),
      ...(doc.headers && { headers: headersOf(doc.headers) }),
      ...(querystring !== undefined && { querystring: withNames(querystring) }),
      ...(body !== undefined && { body: { ...objectOf(withNames(body)), ...bodyExamples(doc) } }),
      response: Object.fromEntries(
        answers
          .filter((answer) => !errors.includes(answer))
          .map(([status, schema]) => [status, answerOf(id, doc, status, schema)]),
      ),
    },
    facts: {
      isBodyOptional: config.isBodyOptional === true,
      hasQuota: !('rateLimit' in config) || config.rateLimit !== false,
      codesByStatus: codesByStatus(
        id,
        errors.map(([status]) => status),
        access,
        doc.errors ?? [],
      ),
    },
  }
}

function docOf(operation: string | undefined): OperationDoc | null {
  if (operation === undefined || !Object.hasOwn(DOCS, operation)) return null
  return DOCS[operation as keyof typeof DOCS]
}

function callerText(access: Access): string {
  const key = (scope: string) => `an API key with the scope \`${scope}\``
  if (access.by === 'anyone') return 'anyone'
  if (access.by === 'key') return key(access.scope)
  if (access.by === 'user-or-key') return `any member of the team, or ${key(access.scope)}`
  if (access.roles.length === ROLES.length) return 'any member of the team'
  return `a member with the role ${access.roles.map((role) => `\`${role}\``).join(' or ')}`
}

/** @throws TypeError when a parameter of the path is not told of, or none is called so */
function withParamDocs(schema: unknown, docs: Readonly<Record<string, ParamDoc>>): Json {
  const params = objectOf(schema)
  const properties = objectOf(params['properties'])
  const names = Object.keys(properties)
  if (names.sort().join() !== Object.keys(docs).sort().join()) {
    throw new TypeError(`documented are ${Object.keys(docs)} of the path's parameters ${names}`)
  }
  return {
    ...params,
    properties: Object.fromEntries(
      Object.entries(docs).map(([name, { description, example }]) => [
        name,
        { ...objectOf(properties[name]), description, examples: [example] },
      ]),
    ),
  }
}

function headersOf(docs: Readonly<Record<string, ParamDoc>>): Json {
  const properties = Object.entries(docs).map(([name, { description, example }]) => [
    name,
    { type: 'string', description, examples: [example] },
  ])
  return { type: 'object', properties: Object.fromEntries(properties) }
}

/** By a key that is fit for a file name, as some tools make one of it. */
function bodyExamples({ request = {} }: OperationDoc): Json {
  const examples = Object.entries(request).map(([summary, value]) => [
    summary.toLowerCase().replace(/\W+/g, '-'),
    { summary, value },
  ])
  return { 'x-examples': Object.fromEntries(examples) }
}

/** @throws TypeError when the answer is not told of */
function answerOf(operation: string, doc: OperationDoc, status: number, schema: unknown): Json {
  const told = status < 400 ? doc.success : doc.others?.[status]
  if (told === undefined) throw new TypeError(`${operation} does not tell of its answer ${status}`)
  const { description, example, mediaType = 'application/json' } = told
  if (isJson(schema) && schema['type'] === 'null') return { type: 'null', description }
  const media = {
    schema: mediaType === 'application/json' ? withNames(schema) : { type: 'string' },
    ...(example !== undefined && { example }),
  }
  const texts = Object.entries(told.texts ?? {}).map(([type, text]) => [
    type,
    { schema: { type: 'string' }, example: text },
  ])
  return { description, content: { [mediaType]: media, ...Object.fromEntries(texts) } }
}

function objectOf(value: unknown): Json {
  if (!isJson(value)) throw new TypeError('this part of a schema must be an object')
  return value
}
