import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readdirSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TAGS } from '../../../../schemas/docs/operation-doc.ts'
import { DOCS } from '../../../../schemas/docs.ts'
import { ROLES } from '../../../../src/http/access/caller.ts'
import { CONTRACT } from '../../../../src/http/openapi/names.ts'
import { DocumentCheck, type DocumentedOperation } from '../../../support/expect/document-check.ts'
import { isOfPage } from '../../../support/scenarios/routes.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

type Json = Record<string, unknown>
interface Response {
  readonly description?: string
  readonly headers?: Json
  readonly content?: Readonly<Record<string, { schema: Json; example?: unknown; examples?: Json }>>
}
interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly parameters?: readonly { name: string; in: string; description?: string }[]
  readonly requestBody?: {
    content: Record<string, { schema: Json; examples?: Json; example?: unknown }>
  }
  readonly responses: Readonly<Record<string, Response & { $ref?: string }>>
  readonly security: readonly Json[]
}

// The document is the same on every database.
const [backend = expect.fail('there is a database')] = backends
const JSON_TYPE = 'application/json'

const routes: RouteOptions[] = []
let service: TestService
let document: Json & { components: Record<string, Json>; paths: Json }
let operations: readonly (Omit<DocumentedOperation, 'operation'> & { operation: Operation })[]

beforeAll(async () => {
  const listen = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onRoute', (route) => void routes.push(route))
  }
  subscribe('fastify.initialization', listen)
  service = await TestService.start(backend)
  unsubscribe('fastify.initialization', listen)
  document = (await service.call({ method: 'GET', url: '/openapi.json' })).json()
  operations = new DocumentCheck(document).operations as unknown as typeof operations
})
afterAll(() => service.close())

/** Complaints about operations, by the operation. */
function complaints(find: (operation: Operation, method: string) => readonly string[]): string[] {
  return operations.flatMap(({ operation, method }) =>
    find(operation, method).map((complaint) => `${operation.operationId}: ${complaint}`),
  )
}

const claim = (holds: boolean, complaint: string) => (holds ? [] : [complaint])

// Tools that read a broken document fail where nobody looks for the reason.
test('an independent validator finds the document valid OpenAPI 3.1', async () => {
  const validator = new Validator()
  expect(await validator.validate({ ...document })).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
  expect(document['openapi']).toBe('3.1.0')
})

// An endpoint that is in no inventory is one that nobody tests and nobody watches.
test('every route but those of the pages and of operators is an operation, under its own name', () => {
  const isDocs = ({ config }: RouteOptions) => isOfPage(config?.operation)
  const expected = routes
    .filter((route) => !isDocs(route) && route.config?.isOperational !== true)
    .map(({ method, url, config }) => {
      const path = url.replace(/:(\w+)/g, '{$1}')
      return `${method} ${path} ${config?.operation}`
    })
  const found = operations.map(
    ({ method, path, operation }) => `${method} ${path} ${operation.operationId}`,
  )
  expect(found.sort()).toEqual(expected.sort())
  const documented = operations.map(({ operation }) => operation.operationId)
  expect(Object.keys(DOCS).sort()).toEqual(documented.sort())
  expect(routes.filter(isDocs).map(({ url }) => url)).toContain('/openapi.json')
})

/** Files that export no schema. */
const WITHOUT_SCHEMAS = ['docs', 'patterns', 'stats-precision']

// A file that is forgotten there has its schemas repeated in full all over the document.
test('every file of the contract gives its names to the document', () => {
  const files = readdirSync(new URL('../../../../schemas', import.meta.url))
  const names = files.filter((file) => file.endsWith('.ts')).map((file) => file.slice(0, -3))
  expect([...Object.keys(CONTRACT), ...WITHOUT_SCHEMAS].sort()).toEqual(names.sort())
})

test('every operation has a short summary, a description, a tag and described parameters', () => {
  const found = complaints(({ summary, description, tags, parameters = [] }) => [
    ...claim(/^[A-Z].{3,58}[^.]$/.test(summary), `summary ${summary}`),
    ...claim(/^[A-Z].*\.\n\n\*\*Caller:\*\* .+\.$/.test(description), `text ${description}`),
    ...claim(tags.length === 1 && Object.hasOwn(TAGS, tags[0] ?? ''), `tags ${tags}`),
    ...parameters.flatMap(({ name, description: text }) =>
      claim(text !== undefined, `parameter ${name}`),
    ),
  ])
  expect(found).toEqual([])
  const used = new Set(operations.flatMap(({ operation }) => operation.tags))
  expect([...used].sort()).toEqual(Object.keys(TAGS).sort())
})

test('every operation has one success with an example, and examples of each body it takes', () => {
  const found = complaints(({ responses, requestBody }) => {
    const successes = Object.entries(responses).filter(([status]) => +status < 400)
    const [[status, success] = ['', {} as Response]] = successes
    const media = Object.values(success.content ?? {}).find(({ example }) => example !== undefined)
    const lacking = Object.values(requestBody?.content ?? {}).filter(
      ({ examples = {}, example }) => Object.keys(examples).length === 0 && example === undefined,
    )
    return [
      // A change of a deployment may have to wait for approval, and a tag may still hold.
      ...claim(
        ['200,202', '200,304'].includes(successes.map(([one]) => one).join()) ||
          successes.length === 1,
        `${successes.length} successes`,
      ),
      ...claim(success.description !== undefined, 'the success is not described'),
      ...claim(status === '204' || media !== undefined, 'no example of its success'),
      ...claim(lacking.length === 0, 'no request'),
    ]
  })
  expect(found).toEqual([])
})

// A client must know what to do with every answer before it comes.
test('every operation lists its errors with their codes, and those of all operations', () => {
  const isForSome = (operationId: string) => {
    const access = routes.find(({ config }) => config?.operation === operationId)?.config?.access
    return access?.by === 'user' && access.roles.length < ROLES.length
  }
  const found = complaints(({ operationId, responses, security, requestBody }, method) => {
    const missing = (statuses: readonly number[]) =>
      statuses.filter((status) => responses[status] === undefined).map((status) => `no ${status}`)
    const takesBody = requestBody !== undefined || method === 'DELETE'
    return [
      ...missing([429, 500, 503]),
      ...missing(security.length > 0 ? [401] : []),
      ...missing(isForSome(operationId) ? [403] : []),
      ...missing(takesBody ? [400, 413, 415] : []),
    ]
  })
  expect(found).toEqual([])
  for (const [name, response] of Object.entries(document.components['responses'] ?? {})) {
    const { headers = {}, content = {} } = response as Response
    const media = content[JSON_TYPE] ?? expect.fail(`${name} is no JSON`)
    // One schema for all errors: with a schema for each, clients have a type for each.
    expect(media.schema).toEqual({ $ref: '#/components/schemas/ErrorBody' })
    expect((response as Json)['x-error-codes']).toEqual(Object.keys(media.examples ?? {}))
    const waits = /RateLimited|Unavailable|IdempotencyInProgress/.test(name)
    expect(Object.keys(headers)).toEqual([
      ...['X-Request-Id', 'X-RateLimit-Limit', 'X-RateLimit-Remaining'],
      ...(waits ? ['Retry-After'] : []),
    ])
  }
})

// A generator calls a schema without a name Inline37, and another name with each release.
test('bodies are named components, every component is used, and no union is wider than it need be', () => {
  const bodies = complaints(({ requestBody, responses }) =>
    [requestBody, ...Object.values(responses)].flatMap((part) => {
      const media = (part as Response | undefined)?.content?.[JSON_TYPE]
      return claim(media === undefined || '$ref' in media.schema, 'a body without a name')
    }),
  )
  expect(bodies).toEqual([])
  const text = JSON.stringify(document)
  const { schemas = {}, responses = {} } = document.components
  for (const kind of ['schemas', 'responses'] as const) {
    for (const name of Object.keys({ schemas, responses }[kind])) {
      expect(text).toContain(`"#/components/${kind}/${name}"`)
    }
  }
  expect(schemas['Environment']).toMatchObject({ type: 'string', enum: ['production', 'staging'] })
  expect(text).not.toMatch(/"anyOf":\[\{"const"/)
  // Generators take a property that has a default for one that is always there.
  expect(text).not.toContain('"default":')
})

// Python and Rust read no pattern with half characters in it, and then check nothing at all.
test('patterns are readable for other languages', () => {
  const patterns = [...JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)]
  expect(patterns.length).toBeGreaterThan(5)
  for (const [, pattern = ''] of patterns) {
    expect(pattern).not.toMatch(/\\uD[89A-F]/i)
    expect(() => new RegExp(JSON.parse(pattern), 'u')).not.toThrow()
  }
})

test('an access token and an API key are different schemes, and each route names those that it takes', () => {
  const security = Object.fromEntries(
    operations.map(({ operation }) => [
      operation.operationId,
      operation.security.flatMap((one) => Object.keys(one)),
    ]),
  )
  expect(security).toMatchObject({
    'auth.login': [],
    'keys.create': ['accessToken'],
    'scoring.score': ['apiKey'],
    'scorecards.list': ['accessToken', 'apiKey'],
  })
  const create = operations.find(({ operation }) => operation.operationId === 'keys.create')
  expect(create?.operation.description).toContain('a member with the role `owner` or `admin`')
})

// The engine tells all faults of a spec at once, which a check of the body before it would prevent.
test('the contract of a body is published where the service itself, not the route, judges it', () => {
  const { schemas = {} } = document.components
  expect(schemas['DeployRequest']).toMatchObject({
    required: ['spec', 'environment', 'auto_deploy'],
    properties: { spec: { $ref: '#/components/schemas/ScorecardSpec' } },
  })
  expect(schemas['TrafficRequest']).toHaveProperty('oneOf.length', 4)
})

test('an unchanged document is not sent again', async () => {
  const url = '/openapi.json'
  const first = await service.call({ method: 'GET', url })
  expect(first.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-cache',
  })
  const headers = { 'if-none-match': String(first.headers['etag']) }
  const second = await service.call({ method: 'GET', url, headers })
  expect([second.statusCode, second.body]).toEqual([304, ''])
  const other = await service.call({ method: 'GET', url, headers: { 'if-none-match': '"x"' } })
  expect([other.statusCode, other.body]).toEqual([200, first.body])
})

test('the document names the server that PUBLIC_URL names, else the one it was read from', async () => {
  expect(document['servers']).toEqual([{ url: '/' }])
  const env = { PUBLIC_URL: 'https://lender.example/scoring' }
  const elsewhere = await TestService.start(backend, { env })
  const { servers, paths } = (await elsewhere.call({ method: 'GET', url: '/openapi.json' })).json()
  await elsewhere.close()
  expect(servers).toEqual([{ url: env.PUBLIC_URL }])
  expect(Object.keys(paths)).toEqual(Object.keys(document.paths))
})
