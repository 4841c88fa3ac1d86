import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { lastBackend } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const QUOTA = '1000'
const BODY = '{"income":1}'

interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Record<string, unknown>
}

// What Node answers by itself has no body, no request id and no quota: callers can't report or pace
// it.
describe.each([
  ['directly', {}],
  ['behind a proxy', { TRUST_PROXY: '127.0.0.1' }],
])('a request that came %s', (_how, env) => {
  let service: TestService
  let port: number
  let slug: string
  let owner: string
  let key: string

  beforeAll(async () => {
    service = await TestService.start(lastBackend, {
      env: { RATE_LIMIT_PER_MINUTE: QUOTA, ...env },
    })
    owner = await service.signIn()
    slug = await service.deploy(owner, card([plainFeature('income')]))
    key = await service.createKey(owner)
    await service.app.listen({ host: '127.0.0.1', port: 0 })
    port = (service.app.server.address() as AddressInfo).port
  })
  afterAll(() => service.close())

  /** Opens a connection; all that comes back is one answer, whose connection the service ends. */
  async function open(text: string) {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    let answer = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      answer += part
    })
    socket.write(text)
    const closed = once(socket, 'close')
    return {
      ended: closed,
      write: (more: string) => socket.write(more),
      async answered(): Promise<RawAnswer> {
        await closed
        const [head = '', body = ''] = answer.split('\r\n\r\n')
        const [first = '', ...lines] = head.split('\r\n')
        const headers = Object.fromEntries(
          lines.map((line) => [
            line.slice(0, line.indexOf(':')).toLowerCase(),
            line.slice(line.indexOf(':') + 1).trim(),
          ]),
        )
        return { status: Number(first.split(' ')[1]), headers, body: JSON.parse(body) }
      },
    }
  }

  const send = async (text: string) => (await open(text)).answered()

  const scoreHead = (...headers: string[]) =>
    `${[
      `POST /v1/score/${slug} HTTP/1.1`,
      ...['Host: x', 'Content-Type: application/json', 'Connection: close'],
      ...[`Authorization: Bearer ${key}`, `Content-Length: ${BODY.length}`, ...headers],
    ].join('\r\n')}\r\n\r\n`

  function expectWhole({ headers, body }: RawAnswer, error: string): void {
    expect(headers['x-request-id']).toMatch(/^req_[0-9A-Za-z]+$/)
    expect(headers['x-ratelimit-limit']).toBe(QUOTA)
    expect(Number(headers['x-ratelimit-remaining'])).toBeLessThan(Number(QUOTA))
    expect(body).toMatchObject({ error, request_id: headers['x-request-id'] })
    expect(body['message']).toEqual(expect.any(String))
  }

  // Two readers of such a request can differ in whom it is for.
  test.each([
    ['no Host', (head: string) => head.replace('Host: x\r\n', '')],
    ['two Hosts', (head: string) => head.replace('Host: x', 'Host: x\r\nhost: y')],
  ])('a score with %s is 400, as any other request', async (_, change) => {
    const answer = await send(`${change(scoreHead())}${BODY}`)
    expect(answer.status).toBe(400)
    expectWhole(answer, 'invalid_request')
    expect(answer.body['message']).toContain('Host')
    const other = 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    expect((await send(change(other))).status).toBe(400)
  })

  test('an expectation that is unknown is 417 with the error body and headers', async () => {
    const answer = await send(`${scoreHead('Expect: x')}${BODY}`)
    expect(answer.status).toBe(417)
    expectWhole(answer, 'invalid_request')
    expect(answer.body['message']).toContain('Expect')
  })

  test('an expectation on an unknown path is 404, and without a key 401', async () => {
    const nowhere = await send(
      'GET /nowhere HTTP/1.1\r\nHost: x\r\nExpect: x\r\nConnection: close\r\n\r\n',
    )
    expect(nowhere.status).toBe(404)
    const anonymous = await send(
      'GET /v1/keys HTTP/1.1\r\nHost: x\r\nExpect: x\r\nConnection: close\r\n\r\n',
    )
    expect(anonymous.status).toBe(401)
    expectWhole(anonymous, 'unauthorized')
  })

  test('Expect: 100-continue is answered by the score', async () => {
    const socket = await open(scoreHead('Expect: 100-continue'))
    socket.write(BODY)
    // The "go on" is a head of its own.
    await expect(socket.answered()).rejects.toThrow(SyntaxError)
  })

  test.each([
    ['x:443', 404],
    ['/v1/keys', 405],
    ['*', 404],
  ])('CONNECT %s is %i with the error body and headers', async (target, status) => {
    const answer = await send(`CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(answer.status).toBe(status)
    expectWhole(answer, 'not_found')
    expect(answer.headers['connection']).toBe('close')
  })

  // Two requests on one connection, from anyone, must not end the process.
  test.each(['GET /livez HTTP/1.1', 'GET /v1/keys HTTP/1.1'])(
    'CONNECT behind %s, which has no response yet, ends the connection alone',
    async (first) => {
      const socket = await open(
        `${first}\r\nHost: x\r\n\r\nCONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n`,
      )
      await socket.ended
      const next = await send('GET /v1/keys HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
      expect(next.status).toBe(401)
    },
  )

  test('CONNECT behind a score whose body is on its way ends the connection alone', async () => {
    const socket = await open(scoreHead('X: y'))
    socket.write(`${BODY}CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n`)
    await socket.ended
    const next = await send('GET /v1/keys HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(next.status).toBe(401)
  })

  test('a request to change the protocol is answered as it is', async () => {
    const headers = ['Connection: Upgrade, close', 'Upgrade: websocket']
    const text = ['GET /v1/keys HTTP/1.1', 'Host: x', ...headers].join('\r\n')
    const answer = await send(`${text}\r\n\r\n`)
    expect(answer.status).toBe(401)
    expectWhole(answer, 'unauthorized')
  })

  test.each([
    ['bytes that are not HTTP', 400, 'hello\r\n\r\n'],
    ['HTTP/2 without negotiation', 400, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['headers that are too large', 431, `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
    [
      'two lengths of one body',
      400,
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    ],
  ])('%s are %i with the error body and headers', async (_what, status, text) => {
    const answer = await send(text)
    expect(answer.status).toBe(status)
    expectWhole(answer, 'invalid_request')
  })

  test('a head that does not end is 408 with the error body and headers', async () => {
    const { server } = service.app
    const before = [server.headersTimeout, server.requestTimeout] as const
    try {
      server.headersTimeout = 100
      server.requestTimeout = 100
      const startedMs = performance.now()
      const answer = await send('GET /v1/keys HTTP/1.1\r\nHost: x\r\n')
      expect(answer.status).toBe(408)
      expectWhole(answer, 'invalid_request')
      // Later than 10 s, the end of an idle connection may come first, which has no answer.
      expect(performance.now() - startedMs).toBeLessThan(10_000)
    } finally {
      server.headersTimeout = before[0]
      server.requestTimeout = before[1]
    }
  })

  // Revocation is what an operator does about a stolen key, whose holder may keep requests open.
  test.each([
    ['the fast path', ''],
    ['the way of all requests', 'X-Any: 1\r\nTransfer-Encoding: chunked\r\n'],
  ])('a key revoked while the body is on its way by %s is refused', async (_path, extra) => {
    const created = await service.call({ url: '/v1/keys', token: owner, body: { name: 'k' } })
    const { id, key: secret } = created.json()
    const score = { url: `/v1/score/${slug}`, token: secret, body: { income: 1 } }
    for (let i = 0; i < 3; i++) expect((await service.call(score)).statusCode).toBe(200)
    const isChunked = extra !== ''
    const head = [
      `POST /v1/score/${slug} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`,
      `Content-Type: application/json\r\nAuthorization: Bearer ${secret}\r\n`,
      isChunked ? extra : `Content-Length: ${BODY.length}\r\n`,
    ].join('')
    const socket = await open(`${head}\r\n`)
    await sleep(200)
    const url = `/v1/keys/${id}`
    expect((await service.call({ method: 'DELETE', url, token: owner })).statusCode).toBe(204)
    socket.write(isChunked ? `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n` : BODY)
    const answer = await socket.answered()
    expect(answer.status).toBe(401)
    expect(answer.body['error']).toBe('invalid_api_key')
  })

  test('a member removed while the body is on its way is refused', async () => {
    const member = { email: `m${port}@lender.example`, password: 'a long enough password' }
    const body = { ...member, role: 'admin' }
    const added = await service.call({ url: '/v1/members', token: owner, body })
    const login = await service.call({ url: '/api/auth/login', body: member })
    const text = '{"name":"k"}'
    const socket = await open(
      [
        'POST /v1/keys HTTP/1.1',
        ...['Host: x', 'Connection: close', 'Content-Type: application/json'],
        ...[`Authorization: Bearer ${login.json().access_token}`, `Content-Length: ${text.length}`],
        '\r\n',
      ].join('\r\n'),
    )
    await sleep(200)
    const url = `/v1/members/${added.json().id}`
    expect((await service.call({ method: 'DELETE', url, token: owner })).statusCode).toBe(204)
    socket.write(text)
    expect((await socket.answered()).status).toBe(401)
  })
})
