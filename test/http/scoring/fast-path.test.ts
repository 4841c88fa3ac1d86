import fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { hostileBody } from '../../support/cards/hostile-bodies.ts'
import { TWO_FEATURES, TWO_FEATURES_BODY } from '../../support/cards/two-features.ts'
import { findOutcome } from '../../support/expect/answers.ts'
import { newKey } from '../../support/scenarios/idempotency.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const JSON_HEADERS = { 'content-type': 'application/json' }
/** The fast path leaves a query to Fastify, and this one changes no answer. */
const USUAL = '?lang=en'

type Headers = Readonly<Record<string, string | string[]>>

interface Sent {
  readonly headers?: Headers
  readonly body?: string | Buffer
}

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let owner: string
  let slug: string
  let key: string

  beforeAll(async () => {
    owner = await service.signIn()
    slug = await service.deploy(owner, TWO_FEATURES)
    key = await service.createKey(owner, { rate_limit_per_minute: 1_000_000 })
    // Fastify looks up what is not cached yet.
    await send({ body: '{}' })
  })

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
  function readFacts(response: LightMyRequestResponse) {
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
    // Fastify also looks up what was cached too long ago.
    await send({ body: '{}' })
    const routing = vi.spyOn(service.app, 'routing')
    await during()
    const { length } = routing.mock.calls
    routing.mockRestore()
    return length
  }

  const TAKEN: Array<[what: string, sent: Sent]> = [
    ['a good body', { body: JSON.stringify(TWO_FEATURES_BODY) }],
    ['an empty applicant', { body: '{}' }],
    ['a byte order mark and blanks', { body: `\ufeff \n${JSON.stringify(TWO_FEATURES_BODY)}\t` }],
    ['escapes', { body: '{"\\u006aob":"gr\\u00f6\\u00dfer"}' }],
    ['values in no bin, and unknown names', { body: '{"job":"none","else":[1]}' }],
    [
      'its charset named',
      { headers: { 'content-type': 'application/json; charset=utf-8' }, body: '{}' },
    ],
    ['a routing key', { headers: { 'x-routing-key': 'applicant 7' }, body: '{}' }],
    ['an empty routing key', { headers: { 'x-routing-key': '' }, body: '{}' }],
    ['an Idempotency-Key', { headers: { 'idempotency-key': newKey() }, body: '{}' }],
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
    ...['', 'x'.repeat(256), ['a', 'b']].map((sent): [string, string, Sent] => [
      `the Idempotency-Key ${sent}`,
      '400 invalid_request',
      { headers: { 'idempotency-key': sent }, body: '{}' },
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
    expect(answers.map(findOutcome)).toEqual(['200', '200'])
    const [taken, usual] = answers.map(readFacts)
    expect(taken).toEqual(usual)
  })

  test.each(LEFT_TO_FASTIFY)('with %s Fastify answers: %s', async (_what, outcome, sent) => {
    const answers: LightMyRequestResponse[] = []
    const seen = await seenByFastify(async () => {
      answers.push(await send(sent), await send(sent, USUAL))
    })
    expect(seen).toBe(2)
    expect(answers.map(findOutcome)).toEqual([outcome, outcome])
    const [taken, usual] = answers.map(readFacts)
    expect(taken).toEqual(usual)
  })

  test('any body has the same answer on both ways', async () => {
    await fc.assert(
      fc.asyncProperty(hostileBody(TWO_FEATURES_BODY), async (body) => {
        expect(readFacts(await send({ body }))).toEqual(readFacts(await send({ body }, USUAL)))
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
      answers.push([findOutcome(response), response.headers['x-ratelimit-remaining']])
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
    const gone = await service.deploy(owner, TWO_FEATURES)
    const token = await service.createKey(owner)
    const call = () => service.call({ url: `/v1/score/${gone}`, token, body: {} })
    expect([findOutcome(await call()), findOutcome(await call())]).toEqual(['200', '200'])
    await service.call({
      method: 'PATCH',
      url: `/v1/deployments/${gone}`,
      token: owner,
      body: { is_active: false },
    })
    expect(findOutcome(await call())).toBe('404 deployment_not_found')
    const reader = await service.createKey(owner, { scopes: ['read'] })
    const staging = await service.createKey(owner, { environment: 'staging' })
    for (const [secret, outcome] of [
      [reader, '401 invalid_api_key'],
      [staging, '404 deployment_not_found'],
    ] as const) {
      const headers = { authorization: `Bearer ${secret}` }
      for (const query of ['', '', USUAL]) {
        expect(findOutcome(await send({ headers, body: '{}' }, query))).toBe(outcome)
      }
    }
  })
})
