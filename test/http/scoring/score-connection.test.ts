import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { card, categorical, numeric } from '../../support/cards/cards.ts'
import { newKey } from '../../support/scenarios/idempotency.ts'
import { firstBackend } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

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

describe('over a connection', () => {
  const service = TestService.forSuite(firstBackend)
  let port: number
  let owner: string
  let key: string
  let url: string
  let head: (length: number) => string

  beforeAll(async () => {
    owner = await service.signIn()
    url = `/v1/score/${await service.deploy(owner, spec)}`
    key = await service.createKey(owner)
    await service.call({ url, token: key, body: {} })
    await service.app.listen({ host: '127.0.0.1', port: 0 })
    port = (service.app.server.address() as AddressInfo).port
    head = (length) =>
      `POST ${url} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
  })

  const readRequest = (body: string) => head(Buffer.byteLength(body)) + body

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
    const request = readRequest('{"income":1200,"job":"größer"}')
    for (let at = request.length - 40; at < request.length; at += 3) {
      const text = await exchange([request.slice(0, at), request.slice(at)], 1)
      expect(text).toContain('"contributions":{"income":20,"job":7}')
    }
    expect(await exchange([...request], 1)).toContain('"contributions":{"income":20,"job":7}')
  })

  test('a score with an Idempotency-Key is answered, given again, and says if it is not kept', async () => {
    const withKey = (sent: string, body: string) =>
      readRequest(body).replace('\r\n\r\n', `\r\nidempotency-key: ${sent}\r\n\r\n`)
    const facts = (text: string) => ({
      requestId: /"request_id":"(\w+)"/.exec(text)?.[1],
      isReplay: /^idempotent-replayed: true\r$/m.test(text),
      isNotKept: /^idempotency-kept: false\r$/m.test(text),
    })
    const sent = newKey()
    // Fastify looks up a key that is not cached.
    await exchange([readRequest('{}')], 1)
    const first = facts(await exchange([withKey(sent, '{"income":1}')], 1))
    expect(first).toMatchObject({ isReplay: false, isNotKept: false })
    const again = facts(await exchange([withKey(sent, '{"income":1}')], 1))
    expect(again).toEqual({ ...first, isReplay: true })

    service.services.idempotency.isFull = true
    const other = facts(await exchange([withKey(newKey(), '{"income":1}')], 1))
    service.services.idempotency.isFull = false
    expect(other).toMatchObject({ isReplay: false, isNotKept: true })
  })

  // The fast path answers some, and Fastify, which takes longer, the others.
  test('requests that come at once are answered in their order', async () => {
    const bodies = [
      '{"income":1}',
      '{"income":true}',
      '{"income":2000}',
      '{"strict_mode":true}',
      '{"job":"other"}',
    ]
    const text = await exchange([bodies.map(readRequest).join('')], bodies.length)
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
      exchange([readRequest(body).replace(/Bearer \S+/, `Bearer ${limited}`)], 1)
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
      readMetric(/request_duration_seconds_sum\{operation="scoring.score",status="400"\} (\S+)/)
    const readMetric = async (pattern: RegExp) => {
      const { body } = await service.inject({ method: 'GET', url: '/metrics' })
      return Number(pattern.exec(body)?.[1] ?? 0)
    }
    const before = await sums()
    const request = readRequest('{"income":true}')
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(request.slice(0, -5))
    await pause(200)
    socket.write(request.slice(-5))
    await once(socket, 'data')
    socket.destroy()
    await expect.poll(sums).toBeGreaterThan(before + 0.15)
  })

  /** Sends requests one after the other over a connection; returns the answer to the last one. */
  async function askInTurn(requests: readonly string[]): Promise<string> {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1').setNoDelay(true)
    await once(socket, 'connect')
    let text = ''
    let isClosed = false
    let wake = () => {}
    socket.on('data', (chunk: string) => {
      text += chunk
      wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      isClosed = true
      wake()
    })
    const isAnswered = () => {
      const [head = '', body] = text.split('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1])
      return isClosed || (body !== undefined && body.length >= length)
    }
    for (const request of requests) {
      text = ''
      socket.write(request, 'latin1')
      while (!isAnswered()) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
    socket.destroy()
    return text
  }

  /** The parts of an answer that must be the same on both ways. */
  function readFacts(answer: string): string {
    return answer
      .replaceAll(/req_\w+/g, 'req')
      .replace(/"scored_at":"[^"]+"/, '')
      .replace(/\r\ndate: [^\r]+/i, '')
      .replace(/\r\nx-ratelimit-remaining: \d+/i, '')
  }

  // A connection remembers the head of the request before.
  test('after a usual head, any other one has the answer that Fastify gives, and its own facts', async () => {
    const many = await service.createKey(owner, { rate_limit_per_minute: 1_000_000 })
    const makeRequest = (path: string, own: readonly string[]) =>
      [
        `POST ${path} HTTP/1.1`,
        ...['host: x', `authorization: Bearer ${many}`, 'content-type: application/json'],
        ...own,
        ...['content-length: 2', '', '{}'],
      ].join('\r\n')
    const usual = ['X-Reference-Id: loan-7', 'x-routing-key: applicant 7', 'x-other: 7']
    const score = vi.spyOn(service.services.scoring, 'score')
    const ask = async (requests: readonly string[]) => {
      score.mockClear()
      const answer = readFacts(await askInTurn(requests))
      const { reference, routingKey } = score.mock.calls[requests.length - 1]?.[1] ?? {}
      return { answer, reference, routingKey }
    }
    // Fastify looks up a key that is not cached yet.
    await ask([makeRequest(url, usual)])
    const value = fc.oneof(
      { weight: 3, arbitrary: fc.stringMatching(/^[!-~]{1,20}$/) },
      fc.constantFrom(
        ...['', ' ', 'a b', 'a ', '\ta', 'é', '\x7f', 'x'.repeat(128), 'x'.repeat(129)],
      ),
      fc.constantFrom(...['a\r', 'a\nb', 'a\n', 'a\r\n b', 'a\r\nx-reference-id: b', 'a\0']),
    )
    const space = fc.constantFrom(' ', '', '  ', '\t')
    const line = (name: string) =>
      fc
        .tuple(fc.constantFrom(name, name, name, `${name} `, name.toLowerCase()), space, value)
        .map(([own, before, text]) => `${own}:${before}${text}`)
    const lines = (first: string, at: number) =>
      fc.oneof(
        { weight: 8, arbitrary: fc.constant([usual[at] ?? '']) },
        { weight: 4, arbitrary: line(first).map((one) => [one]) },
        { weight: 1, arbitrary: fc.array(line(first), { maxLength: 2 }) },
      )
    const seen = { taken: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(lines('X-Reference-Id', 0), lines('x-routing-key', 1), lines('x-other', 2)),
        async (parts) => {
          const own = parts.flat()
          const after = await ask([makeRequest(url, usual), makeRequest(url, own)])
          const alone = await ask([makeRequest(`${url}?lang=en`, own)])
          expect(after).toEqual(alone)
          seen[after.answer.startsWith('HTTP/1.1 200') ? 'taken' : 'refused']++
        },
      ),
      { numRuns: 150 },
    )
    score.mockRestore()
    expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(15)
  }, 120_000)

  test('a client that hangs up amid its body leaves nothing behind', async () => {
    for (let n = 0; n < 50; n++) {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write(readRequest('{"income":1}').slice(0, -4))
      if (n % 2 === 0) await pause(2)
      socket.resetAndDestroy()
    }
    expect(await exchange([readRequest('{"income":1}')], 1)).toContain('HTTP/1.1 200')
    await expect
      .poll(
        () => new Promise((resolve) => service.app.server.getConnections((_e, n) => resolve(n))),
      )
      .toBe(0)
  })
})
