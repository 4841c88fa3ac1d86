import { beforeAll, describe, expect, test } from 'vitest'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { findOutcome, formatRefusal } from '../../support/expect/answers.ts'
import { type Backend, backends } from '../../support/start/databases.ts'
import { OWNER, TestService } from '../../support/start/service.ts'

const BODY_BYTES_MAX = 2048
const unknownSlug = 'dep_0000000000000000000000'
const spec = card([plainFeature('income')])

/** Each route with the caller it admits and a body it carries out. */
const ROUTES = [
  { url: '/api/auth/login', by: 'nobody', body: OWNER },
  {
    url: '/v1/models/deploy',
    by: 'owner',
    body: { spec, environment: 'staging', auto_deploy: false },
  },
  { url: '/v1/keys', by: 'owner', body: { name: 'key of a test' } },
  { url: '/v1/score/:slug', by: 'key', body: { income: 1 } },
  { url: '/v1/score/:slug/batch', by: 'key', body: { records: [{ income: 1 }] } },
  { url: '/api/v1/score', by: 'key', body: { scorecard_id: ':slug', applicant: { income: 1 } } },
  { url: '/api/v1/score/batch', by: 'key', body: { scorecard_id: ':slug', applicants: [] } },
] as const

type Route = (typeof ROUTES)[number]

// A refused request never gets to the database: one of them is enough.
describe.each(backends.slice(-1))('on $name', (backend) => {
  const service = TestService.forSuite(backend, { env: { BODY_LIMIT_BYTES: `${BODY_BYTES_MAX}` } })
  let slug: string
  let tokens: Record<Route['by'], string | undefined>

  beforeAll(async () => {
    const owner = await service.signIn()
    slug = await service.deploy(owner, spec)
    tokens = { nobody: undefined, owner, key: await service.createKey(owner) }
  })

  /** Calls a route as its own caller, with anything for a body. */
  function send({ url, by }: Route, body: string, headers: Record<string, string> = {}) {
    const token = tokens[by]
    return service.call({
      url: url.replace(':slug', slug),
      body,
      headers,
      ...(token !== undefined && { token }),
    })
  }

  const goodBody = ({ body }: Route) => JSON.stringify(body).replace(':slug', slug)

  // The refusals below would prove nothing if these requests failed anyhow.
  test.each(ROUTES)('$url carries out a well-formed request', async (route) => {
    expect((await send(route, goodBody(route))).statusCode).toBeLessThan(300)
  })

  const MALFORMED: Array<[string, string]> = [
    ['nothing', ''],
    ['white space', ' \n'],
    ['a bare word', 'hello'],
    ['half an object', '{"a":1'],
    ['a comma too many', '{"a":1,}'],
    ['single quotes', "{'a':1}"],
    ['a name without quotes', '{a:1}'],
    ['two objects', '{}{}'],
    ['NaN', '{"a":NaN}'],
    ['Infinity', '{"a":Infinity}'],
    ['a number with a leading zero', '{"a":01}'],
    ['a control character in a text', '{"a":"\u0001"}'],
    ['a NUL', '\0'],
    ['a comment', '{}//'],
    ['null', 'null'],
    ['a list', '[]'],
    ['a list of objects', '[{}]'],
    ['a text', '"{}"'],
    ['a number', '1'],
    ['true', 'true'],
    ['a property __proto__', '{"__proto__":{"income":1}}'],
    ['a property __proto__ deep inside', '{"a":[{"b":{"__proto__":1}}]}'],
    ['an escaped __proto__', '{"\\u005f_proto__":1}'],
  ]
  // A body that is half understood is a decision about somebody that nobody asked for.
  test.each(MALFORMED)('%s for a body is 400 invalid_request on every route', async (_, body) => {
    for (const route of ROUTES) {
      expect(findOutcome(await send(route, body)), route.url).toBe('400 invalid_request')
    }
  })

  // Parsed as something else than its sender meant, a text could become a value.
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/jsonx',
    'application/vnd.api+json',
    'application/json, text/plain',
    'json',
    ' ',
  ])('the content type %j is 415 unsupported_media_type on every route', async (type) => {
    for (const route of ROUTES) {
      const response = await send(route, goodBody(route), { 'content-type': type })
      expect(findOutcome(response), route.url).toBe('415 unsupported_media_type')
    }
  })

  test('a body without a content type is 415, and none at all is 400', async () => {
    for (const route of ROUTES) {
      const token = tokens[route.by]
      const url = route.url.replace(':slug', slug)
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const payload = Buffer.from(goodBody(route))
      const untyped = await service.inject({ method: 'POST', url, headers, payload })
      expect(findOutcome(untyped)).toBe('415 unsupported_media_type')
      const empty = await service.inject({ method: 'POST', url, headers })
      expect(findOutcome(empty)).toBe('400 invalid_request')
    }
  })

  test.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON'])(
    'the content type %j is JSON',
    async (type) => {
      for (const route of ROUTES) {
        const response = await send(route, goodBody(route), { 'content-type': type })
        expect(response.statusCode, route.url).toBeLessThan(300)
      }
    },
  )

  test('a body whose length differs from its header is 400', async () => {
    for (const route of ROUTES) {
      const headers = { 'content-length': `${Buffer.byteLength(goodBody(route)) + 1}` }
      const response = await send(route, goodBody(route), headers)
      expect(findOutcome(response), route.url).toBe('400 invalid_request')
    }
  })

  // Without a bound one request could take all memory.
  test('a body of BODY_LIMIT_BYTES is read, one byte more is 413 payload_too_large', async () => {
    for (const route of ROUTES.filter(({ by, url }) => by === 'key' || url.includes('deploy'))) {
      const body = goodBody(route)
      const fill = ' '.repeat(BODY_BYTES_MAX - Buffer.byteLength(body))
      expect((await send(route, body + fill)).statusCode).toBe(200)
      const larger = await send(route, `${body + fill} `)
      expect(findOutcome(larger), route.url).toBe('413 payload_too_large')
      const announced = await send(route, body, { 'content-length': '99999999999' })
      expect(findOutcome(announced), route.url).toBe('413 payload_too_large')
    }
  })

  test('an unknown path is 404 not_found, with whatever credentials', async () => {
    for (const url of ['/v1', '/v1/score', '/v1/key', '/V1/keys', '/v1/keys/', '/v2/keys', '//']) {
      for (const token of Object.values(tokens)) {
        const response = await service.call({
          url,
          body: {},
          ...(token !== undefined && { token }),
        })
        expect(formatRefusal(response), url).toEqual({
          status: 404,
          error: 'not_found',
          message: expect.any(String),
        })
      }
    }
  })

  test('a method that a path does not have is 405 not_found, and Allow names those it has', async () => {
    for (const route of ROUTES) {
      const { url } = route
      // Other paths take the rest: `/v1/models/deploy` reads like the path of a model.
      for (const method of ['PUT', 'OPTIONS', 'TRACE'] as const) {
        const path = url.replace(':slug', slug)
        const response = await service.inject({ method, url: path })
        expect(findOutcome(response), `${method} ${path}`).toBe('405 not_found')
        const allowed = String(response.headers['allow']).split(', ')
        expect(allowed).toContain('POST')
        expect(allowed).not.toContain(method)
      }
      const head = await service.inject({ method: 'HEAD', url: url.replace(':slug', slug) })
      expect([head.statusCode, head.body]).toEqual([405, ''])
      expect(head.headers['x-request-id']).toMatch(/^req_/)
    }
  })

  test('a 401 names how to prove oneself, and a proven key which scope it lacks', async () => {
    const unknown = await service.call({ url: `/v1/score/${slug}`, body: {} })
    expect(unknown.headers['www-authenticate']).toBe('Bearer realm="scoreline"')
    const owner = await service.signIn()
    const made = await service.call({
      url: '/v1/keys',
      token: owner,
      body: { name: 'k', scopes: ['read'] },
    })
    const reading = await service.call({
      url: `/v1/score/${slug}`,
      token: made.json().key,
      body: {},
    })
    expect(formatRefusal(reading)).toMatchObject({
      status: 401,
      error: 'invalid_api_key',
      message: expect.stringContaining('has the scope read, and this needs the scope score'),
    })
  })

  test.each([
    ['lang=de_DE', 'lang must be a language tag such as de or de-DE, with hyphens'],
    ['reasons=two', 'reasons must be a whole number'],
    ['reason=2', 'reason is not known here'],
    ['reasons=11', 'reasons must be at most 10'],
  ])('a score asked for with %s is 400, in words', async (query, message) => {
    const url = `/v1/score/${slug}?${query}`
    const response = await service.call({ url, token: String(tokens.key), body: { income: 1 } })
    expect(formatRefusal(response)).toMatchObject({ status: 400, message })
  })

  // A batch takes `include_reasons` in its body: in the query it was ignored without a word.
  test.each([
    ['/v1/score/:slug/batch', { records: [] }],
    ['/api/v1/score', { scorecard_id: 'dep_x', applicant: {} }],
    ['/api/v1/score/batch', { scorecard_id: 'dep_x', applicants: [] }],
    ['/v1/keys', { name: 'k' }],
  ])('POST %s with a query is 400, naming the parameter', async (path, body) => {
    const token = String(path.includes('score') ? tokens.key : tokens.owner)
    const url = `${path.replace(':slug', slug)}?include_reasons=2`
    expect(formatRefusal(await service.call({ url, token, body }))).toMatchObject({
      status: 400,
      message: 'include_reasons is not known here',
    })
  })

  test.each([
    ['PATCH', '/v1/keys/key_x', {}, 'the body must have at least 1 field'],
    ['POST', '/v1/keys', { name: '' }, 'name must have at least 1 character'],
    // It read 'must be a text or "active" or a text or …', as if any text would do.
    ['PATCH', '/v1/models/mod_x', { status: null }, 'status must be "active" or "archived"'],
    ['POST', '/v1/keys', { name: null }, 'name must be a text'],
    ['GET', '/v1/models?limit=0', undefined, 'limit must be at least 1'],
    ['GET', '/v1/deployments/dep_x/reports/2026-13', undefined, 'month must be a month such as'],
  ] as const)(
    '%s %s with a value out of bounds says the bound',
    async (method, url, body, text) => {
      const token = String(tokens.owner)
      const refused = await service.call({
        method,
        url,
        token,
        ...(body !== undefined && { body }),
      })
      expect(formatRefusal(refused)).toMatchObject({
        status: 400,
        message: expect.stringContaining(text),
      })
    },
  )

  test('a file of a wrong type is told which types are taken', async () => {
    const response = await service.call({
      url: '/v1/outcomes/imports',
      token: String(tokens.key),
      body: 'x',
      headers: { 'content-type': 'application/pdf' },
    })
    expect(formatRefusal(response)).toMatchObject({
      status: 415,
      message: expect.stringContaining('Content-Type: application/x-ndjson or text/csv'),
    })
  })

  test.each(['performance', 'performance/vintages'])(
    'a NUL in the definition of %s is 400',
    async (report) => {
      const url = `/v1/deployments/${slug}/${report}?definition=%00`
      const response = await service.call({ method: 'GET', url, token: await service.signIn() })
      expect(findOutcome(response)).toBe('400 invalid_request')
    },
  )

  test.each(['/%', '/v1/score/%E0%A4%A', '/v1/score/%ZZ', '/v1/score/%', '/%c0%ae%c0%ae/'])(
    'a malformed URL is 400 invalid_request: %s',
    async (url) => {
      for (const method of ['GET', 'POST'] as const) {
        const headers = { authorization: `Bearer ${tokens.key}` }
        const response = await service.inject({ method, url, headers })
        expect(findOutcome(response)).toBe('400 invalid_request')
      }
    },
  )

  // docs/decisions.md 2.3: what is wrong with the body is told before what is not there.
  test('a body of the wrong form is 400 even for a deployment that does not exist', async () => {
    for (const [url, body] of [
      [`/v1/score/${unknownSlug}`, { strict_mode: 'yes' }],
      [`/v1/score/${unknownSlug}/batch`, { records: 5 }],
      ['/api/v1/score', { scorecard_id: unknownSlug, applicant: [] }],
      ['/api/v1/score/batch', { scorecard_id: unknownSlug, applicants: [7] }],
    ] as const) {
      const response = await service.call({ url, body, token: tokens.key ?? '' })
      expect(findOutcome(response), url).toBe('400 invalid_request')
    }
  })

  // Support can only look a request up that it can name, and two requests with one name are none.
  test('every refusal names its own request', async () => {
    const ids = new Set<unknown>()
    const calls = [
      ...ROUTES.map((route) => () => send(route, '{')),
      ...ROUTES.map((route) => () => send(route, '{}', { authorization: '' })),
      () => service.call({ url: '/nowhere' }),
      () => service.call({ url: '/%' }),
    ]
    for (const call of calls) {
      const response = await call()
      expect(response.statusCode).toBeGreaterThanOrEqual(400)
      expect(response.json().request_id).toBe(response.headers['x-request-id'])
      ids.add(response.headers['x-request-id'])
    }
    expect(ids.size).toBe(calls.length)
  })
})

// A caller that is told to come back must be told apart from one that made a mistake.
test.each(backends)(
  'while $name is away, what needs it is 503 unavailable with Retry-After',
  async (backend: Backend) => {
    const service = await TestService.start(backend)
    const owner = await service.signIn()
    const slug = await service.deploy(owner, spec)
    const key = await service.createKey(owner)
    const warm = { url: `/v1/score/${slug}`, token: key, body: { income: 1 } }
    expect(findOutcome(await service.call(warm)), 'makes the key known').toBe('200')
    await service.services.close()
    for (const call of [
      { url: '/api/auth/login', body: OWNER },
      { url: '/v1/keys', token: owner, body: { name: 'k' } },
      {
        url: '/v1/models/deploy',
        token: owner,
        body: { spec, environment: 'staging', auto_deploy: true },
      },
      { url: `/v1/score/${unknownSlug}`, token: key, body: {} },
    ]) {
      const response = await service.call(call)
      expect(findOutcome(response), call.url).toBe('503 unavailable')
      expect(Number(response.headers['retry-after'])).toBeGreaterThan(0)
    }
    await service.close()
  },
)
