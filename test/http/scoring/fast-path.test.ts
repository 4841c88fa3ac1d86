import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { card, categorical, numeric } from '../../support/cards/cards.ts'
import { hostileBody } from '../../support/cards/hostile-bodies.ts'
import { outcomeOf } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const JSON_HEADERS = { 'content-type': 'application/json' }
/** A query means nothing to a score, but the fast path leaves it to Fastify. */
const USUAL = '?way=usual'
const GOOD = { income: 1200, job: 'größer', strict_mode: false }
const spec = card([
  numeric('income', [
    ['(-Infinity, 1000]', 10],
    ['(1000, Infinity)', 20],
    ['Missing', 0],
  ]),
  categorical('job', [
    ['größer', 7],
    ['other', -3],
  ]),
])

type Headers = Readonly<Record<string, string | string[]>>

interface Sent {
  readonly headers?: Headers
  readonly body?: string | Buffer
}

describe.each(backends)('on $name', (backend) => {
  let service: TestService
  let owner: string
  let slug: string
  let key: string

  beforeAll(async () => {
    service = await TestService.start(backend)
    owner = await service.signIn()
    slug = await service.deploy(owner, spec)
    key = await service.createKey(owner, { rate_limit_per_minute: 1_000_000 })
    // Fastify looks up what is not cached yet.
    await send({ body: '{}' })
  })
  afterAll(() => service.close())

  function send({ headers, body }: Sent, query = ''): Promise<LightMyRequestResponse> {
    return service.inject({
      method: 'POST',
      url: `/v1/score/${slug}${query}`,
      headers: withKey({ ...JSON_HEADERS, authorization: 'Bearer key', ...headers }),
      ...(body !== undefined && { payload: body }),
    })
  }

  /** Replaces the word `key` by the service's key. */
  function withKey({ authorization = '', ...others }: Headers): Headers {
    const put = (text: string) => text.replace(/key$/, key)
    return {
      ...others,
      authorization: Array.isArray(authorization) ? authorization.map(put) : put(authorization),
    }
  }

  /** The parts of a response that must be the same on both ways. */
  function factsOf(response: LightMyRequestResponse) {
    const {
      'x-request-id': requestId,
      'x-ratelimit-remaining': _remaining,
      date: _date,
      ...headers
    } = response.headers
    const body = response.body
      .replaceAll(String(requestId), 'req')
      .replace(/"scored_at":"[^"]+"/, '"scored_at":""')
    return { status: response.statusCode, headers, body }
  }

  /** How often Fastify saw a request while `during` ran. */
  async function seenByFastify(during: () => Promise<unknown>): Promise<number> {
    const routing = vi.spyOn(service.app, 'routing')
    await during()
    const { length } = routing.mock.calls
    routing.mockRestore()
    return length
  }

  const TAKEN: Array<[what: string, sent: Sent]> = [
    ['a good body', { body: JSON.stringify(GOOD) }],
    ['an empty applicant', { body: '{}' }],
    ['a byte order mark and blanks', { body: `\ufeff \n${JSON.stringify(GOOD)}\t` }],
    ['escapes', { body: '{"\\u006aob":"gr\\u00f6\\u00dfer"}' }],
    ['values in no bin, and unknown names', { body: '{"job":"none","else":[1]}' }],
    [
      'its charset named',
      { headers: { 'content-type': 'application/json; charset=utf-8' }, body: '{}' },
    ],
    ['a routing key', { headers: { 'x-routing-key': 'applicant 7' }, body: '{}' }],
    ['an empty routing key', { headers: { 'x-routing-key': '' }, body: '{}' }],
    ['a reference', { headers: { 'x-reference-id': 'loan-7' }, body: '{}' }],
    ['headers in capitals', { headers: { 'X-ROUTING-KEY': 'A' }, body: '{}' }],
    ['64 KiB', { body: `{"a":"${'x'.repeat(64 * 1024 - 8)}"}` }],
  ]
  const LEFT_TO_FASTIFY: Array<[what: string, outcome: string, sent: Sent]> = [
    ['a value of an impossible type', '400 invalid_request', { body: '{"income":true}' }],
    [
      'a missing feature in strict mode',
      '422 strict_mode_violation',
      { body: '{"strict_mode":true}' },
    ],
    [
      'a strict mode that is not a boolean',
      '400 invalid_request',
      { body: '{"strict_mode":null}' },
    ],
    ['a body that is not an object', '400 invalid_request', { body: '[]' }],
    ['null', '400 invalid_request', { body: 'null' }],
    ['half a body', '400 invalid_request', { body: '{"income":' }],
    [
      'bytes that are not UTF-8',
      '400 invalid_request',
      { body: Buffer.from([...Buffer.from('{"job":"'), 0xff, 0xc3, 0x22, 0x7d]) },
    ],
    [
      'a coding of its body',
      '415 unsupported_media_type',
      { headers: { 'content-encoding': 'gzip' }, body: '{}' },
    ],
    ['the coding identity', '200', { headers: { 'content-encoding': 'identity' }, body: '{}' }],
    ['blanks', '400 invalid_request', { body: '  ' }],
    ['the name __proto__', '400 invalid_request', { body: '{"__proto__":1}' }],
    [
      'bytes that are not UTF-8',
      '400 invalid_request',
      { body: Buffer.from([...Buffer.from('{"job":"'), 0xff, 0xc3, 0x22, 0x7d]) },
    ],
    ['no body', '400 invalid_request', {}],
    [
      'a body shorter than its header says',
      '400 invalid_request',
      { headers: { 'content-length': '9' }, body: '{}' },
    ],
    [
      'a body longer than its header says',
      '400 invalid_request',
      { headers: { 'content-length': '1' }, body: '{}' },
    ],
    [
      'another type',
      '415 unsupported_media_type',
      { headers: { 'content-type': 'text/plain' }, body: '{}' },
    ],
    ['a type in capitals', '200', { headers: { 'content-type': 'Application/JSON' }, body: '{}' }],
    ['no caller', '401 invalid_api_key', { headers: { authorization: '' }, body: '{}' }],
    ['a scheme in capitals', '200', { headers: { authorization: 'BEARER key' }, body: '{}' }],
    ['a body in chunks', '200', { headers: { 'transfer-encoding': 'chunked' }, body: '{}' }],
    ['two routing keys', '200', { headers: { 'x-routing-key': ['a', 'b'] }, body: '{}' }],
    ...['', 'loan 7', 'x'.repeat(129), ['a', 'b']].map((reference): [string, string, Sent] => [
      `the reference ${reference}`,
      '400 invalid_request',
      { headers: { 'x-reference-id': reference }, body: '{}' },
    ]),
    // The first of two headers counts, even if it is empty.
    ['two keys', '401 invalid_api_key', { headers: { authorization: ['', 'key'] }, body: '{}' }],
    [
      'two types',
      '415 unsupported_media_type',
      { headers: { 'content-type': ['', 'application/json'] }, body: '{}' },
    ],
    ['one byte more than 64 KiB', '200', { body: `{"a":"${'x'.repeat(64 * 1024 - 7)}"}` }],
  ]

  test.each(TAKEN)('with %s the fast path answers, and as Fastify does', async (_what, sent) => {
    const answers: LightMyRequestResponse[] = []
    const seen = await seenByFastify(async () => {
      answers.push(await send(sent), await send(sent, USUAL))
    })
    expect(seen).toBe(1)
    expect(answers.map(outcomeOf)).toEqual(['200', '200'])
    const [taken, usual] = answers.map(factsOf)
    expect(taken).toEqual(usual)
  })

  test.each(LEFT_TO_FASTIFY)('with %s Fastify answers: %s', async (_what, outcome, sent) => {
    const answers: LightMyRequestResponse[] = []
    const seen = await seenByFastify(async () => {
      answers.push(await send(sent), await send(sent, USUAL))
    })
    expect(seen).toBe(2)
    expect(answers.map(outcomeOf)).toEqual([outcome, outcome])
    const [taken, usual] = answers.map(factsOf)
    expect(taken).toEqual(usual)
  })

  test('any body has the same answer on both ways', async () => {
    await fc.assert(
      fc.asyncProperty(hostileBody(GOOD), async (body) => {
        expect(factsOf(await send({ body }))).toEqual(factsOf(await send({ body }, USUAL)))
      }),
      { numRuns: 300 },
    )
  })

  // The fast path counts it, so the quota's plugin must not.
  test('a request that is left to Fastify is counted once, and beyond the quota it is denied', async () => {
    const token = await service.createKey(owner, { rate_limit_per_minute: 6 })
    const headers = { authorization: `Bearer ${token}` }
    const bodies = ['{}', '{"income":true}', '{', '{}', '{"strict_mode":true}', 'null', '{}', '{']
    const answers: Array<[string, unknown]> = []
    for (const body of bodies) {
      const response = await send({ headers, body })
      expect(response.headers['x-ratelimit-limit']).toBe('6')
      answers.push([outcomeOf(response), response.headers['x-ratelimit-remaining']])
    }
    expect(answers).toEqual([
      ['200', '5'],
      ['400 invalid_request', '4'],
      ['400 invalid_request', '3'],
      ['200', '2'],
      ['422 strict_mode_violation', '1'],
      ['400 invalid_request', '0'],
      ['429 rate_limited', '0'],
      ['429 rate_limited', '0'],
    ])
  })

  test('every request is in the metrics once, on both ways', async () => {
    const statuses = async () => {
      const { body } = await service.inject({ method: 'GET', url: '/metrics' })
      const count = (status: number) =>
        Number(
          new RegExp(
            `request_duration_seconds_count\\{operation="scoring.score",status="${status}"\\} (\\d+)`,
          ).exec(body)?.[1] ?? 0,
        )
      return [count(200), count(400), count(422)]
    }
    const before = await statuses()
    for (const body of ['{}', '{"income":true}', '{"strict_mode":true}', '{', '{}']) {
      await send({ body })
    }
    const after = await statuses()
    expect(after.map((count, index) => count - (before[index] ?? 0))).toEqual([2, 2, 1])
  })

  test('a deployment or a key that is taken away is gone for the fast path, too', async () => {
    const gone = await service.deploy(owner, spec)
    const token = await service.createKey(owner)
    const call = () => service.call({ url: `/v1/score/${gone}`, token, body: {} })
    expect([outcomeOf(await call()), outcomeOf(await call())]).toEqual(['200', '200'])
    await service.call({
      method: 'PATCH',
      url: `/v1/deployments/${gone}`,
      token: owner,
      body: { is_active: false },
    })
    expect(outcomeOf(await call())).toBe('404 deployment_not_found')
    const reader = await service.createKey(owner, { scopes: ['read'] })
    const staging = await service.createKey(owner, { environment: 'staging' })
    for (const [secret, outcome] of [
      [reader, '401 invalid_api_key'],
      [staging, '404 deployment_not_found'],
    ] as const) {
      const headers = { authorization: `Bearer ${secret}` }
      for (const query of ['', '', USUAL]) {
        expect(outcomeOf(await send({ headers, body: '{}' }, query))).toBe(outcome)
      }
    }
  })
})

describe('over a connection', () => {
  let service: TestService
  let port: number
  let owner: string
  let key: string
  let url: string
  let head: (length: number) => string

  beforeAll(async () => {
    const backend = backends[0]
    if (backend === undefined) throw new Error('there is no database')
    service = await TestService.start(backend)
    owner = await service.signIn()
    url = `/v1/score/${await service.deploy(owner, spec)}`
    key = await service.createKey(owner)
    await service.call({ url, token: key, body: {} })
    await service.app.listen({ host: '127.0.0.1', port: 0 })
    port = (service.app.server.address() as AddressInfo).port
    head = (length) =>
      `POST ${url} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
  })
  afterAll(() => service.close())

  const requestOf = (body: string) => head(Buffer.byteLength(body)) + body

  /** Sends the chunks one by one, and returns the text of so many answers. */
  async function exchange(chunks: readonly string[], answers: number): Promise<string> {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8').setNoDelay(true)
    await once(socket, 'connect')
    let text = ''
    const done = new Promise<void>((resolve, reject) => {
      socket.on('error', reject)
      socket.on('close', () => reject(new Error(`closed after ${text}`)))
      socket.on('data', (chunk: string) => {
        text += chunk
        if (text.split('"request_id"').length > answers && text.endsWith('}')) resolve()
      })
    })
    for (const chunk of chunks) {
      socket.write(chunk)
      if (chunks.length > 1) await pause(2)
    }
    await done
    socket.destroy()
    return text
  }

  test('a request may come in chunks of any size', async () => {
    const request = requestOf('{"income":1200,"job":"größer"}')
    for (let at = request.length - 40; at < request.length; at += 3) {
      const text = await exchange([request.slice(0, at), request.slice(at)], 1)
      expect(text).toContain('"contributions":{"income":20,"job":7}')
    }
    expect(await exchange([...request], 1)).toContain('"contributions":{"income":20,"job":7}')
  }, 30_000)

  // The fast path answers some, and Fastify, which takes longer, the others.
  test('requests that come at once are answered in their order', async () => {
    const bodies = [
      '{"income":1}',
      '{"income":true}',
      '{"income":2000}',
      '{"strict_mode":true}',
      '{"job":"other"}',
    ]
    const text = await exchange([bodies.map(requestOf).join('')], bodies.length)
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      ...['200', '400', '200', '422', '200'],
    ])
    expect([...text.matchAll(/"contributions":\{[^}]*\}/g)].map(String)).toEqual([
      '"contributions":{"income":10,"job":0}',
      '"contributions":{"income":20,"job":0}',
      '"contributions":{"income":0,"job":-3}',
    ])
  })

  // A connection of its own for each: the fast path reads it, and gives it to Node for a refusal.
  test('a request that leaves the fast path with its connection is counted once', async () => {
    const limited = await service.createKey(owner, { rate_limit_per_minute: 4 })
    const call = (body: string) =>
      exchange([requestOf(body).replace(/Bearer \S+/, `Bearer ${limited}`)], 1)
    const outcome = (text: string) => [
      /HTTP\/1\.1 (\d+)/.exec(text)?.[1],
      /x-ratelimit-remaining: (\d+)/.exec(text)?.[1],
    ]
    // Fastify looks up a key that is not cached yet.
    expect(outcome(await call('{}'))).toEqual(['200', '3'])
    expect(outcome(await call('{"income":true}'))).toEqual(['400', '2'])
    expect(outcome(await call('{'))).toEqual(['400', '1'])
    expect(outcome(await call('{}'))).toEqual(['200', '0'])
    expect(outcome(await call('{}'))).toEqual(['429', '0'])
  })

  test('scores go on over a connection whose answers were all read', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (const [body, status] of [
      ['{"income":1}', 200],
      ['{}', 200],
      [`{"income":${' '.repeat(300)}1}`, 200],
      ['{"income":true}', 400],
      ['{"income":1}', 200],
    ] as const) {
      const request = httpRequest({
        port,
        agent,
        method: 'POST',
        path: url,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      })
      request.end(body)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      expect(response.statusCode).toBe(status)
      response.resume()
      await once(response, 'end')
    }
    agent.destroy()
  })

  // The fast path has waited for the body, Fastify has not.
  test('the duration of a request that is left to Fastify starts with its headers', async () => {
    const sums = async () =>
      metricOf(/request_duration_seconds_sum\{operation="scoring.score",status="400"\} (\S+)/)
    const metricOf = async (pattern: RegExp) => {
      const { body } = await service.inject({ method: 'GET', url: '/metrics' })
      return Number(pattern.exec(body)?.[1] ?? 0)
    }
    const before = await sums()
    const request = requestOf('{"income":true}')
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(request.slice(0, -5))
    await pause(200)
    socket.write(request.slice(-5))
    await once(socket, 'data')
    socket.destroy()
    await expect.poll(sums, { timeout: 10_000 }).toBeGreaterThan(before + 0.15)
  })

  test('a client that hangs up amid its body leaves nothing behind', async () => {
    for (let n = 0; n < 50; n++) {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write(requestOf('{"income":1}').slice(0, -4))
      if (n % 2 === 0) await pause(2)
      socket.resetAndDestroy()
    }
    expect(await exchange([requestOf('{"income":1}')], 1)).toContain('HTTP/1.1 200')
    await expect
      .poll(
        () => new Promise((resolve) => service.app.server.getConnections((_e, n) => resolve(n))),
        { timeout: 10_000 },
      )
      .toBe(0)
  })
})
