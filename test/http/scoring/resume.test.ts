import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { card, numeric } from '../../support/cards/cards.ts'
import { backends } from '../../support/start/databases.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'
import { TestService } from '../../support/start/service.ts'

const [backend = expect.fail('there is a database')] = backends
/** Longer than a key is served without a look-up. */
const KEY_LIFE_MS = 10 * 60_000
/** A query makes a request unusual, so that Fastify takes it. */
const WAYS = [
  ['the fast path', ''],
  ['Fastify', '?lang=en'],
] as const
const BODY = '{"income":1200}'

/** A request that the fast path leaves to Fastify is as if one way had done it all. */
describe('a request that the fast path gives up', () => {
  const clock = new ManualClock()
  const service = TestService.forSuite(backend, { clock })
  let owner: string
  let slug: string
  let key: string

  beforeAll(async () => {
    owner = await service.signIn()
    slug = await service.deploy(owner, card([numeric('income', [['(0, 10000]', 10]])]))
    key = await service.createKey(owner)
    await score(key)
    await service.app.listen({ host: '127.0.0.1', port: 0 })
  })
  afterEach(() => vi.restoreAllMocks())

  const score = (token: string, query = '') =>
    service.call({ url: `/v1/score/${slug}${query}`, token, body: { income: 1200 } })

  async function metric(name: string): Promise<number> {
    const { body } = await service.inject({ method: 'GET', url: '/metrics' })
    const line = body.split('\n').find((one) => one.startsWith(`scoreline_${name} `))
    return Number(line?.split(' ')[1] ?? 0)
  }

  async function keyLookups(): Promise<number> {
    const outcomes = ['hit', 'miss', 'expired']
    const names = outcomes.map((one) => `cache_lookups_total{cache="keys",outcome="${one}"}`)
    return (await Promise.all(names.map(metric))).reduce((sum, count) => sum + count, 0)
  }

  /** Opens a connection and sends a request without the last characters of its body. */
  async function sendPart(query: string, missingChars: number, body = BODY): Promise<Socket> {
    const { port } = service.app.server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1').setEncoding('utf8')
    await once(socket, 'connect')
    const head = [
      `POST /v1/score/${slug}${query} HTTP/1.1`,
      'host: x',
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, -missingChars)}`)
    return socket
  }

  test.each(WAYS)('looks up a cached key without the scope once, by %s', async (_way, query) => {
    const reader = await service.createKey(owner, { scopes: ['read'] })
    await score(reader, query)
    const before = await keyLookups()
    expect((await score(reader, query)).statusCode).toBe(401)
    expect(await keyLookups()).toBe(before + 1)
  })

  test.each(WAYS)('looks up a key that is due for a look-up once, by %s', async (_way, query) => {
    await score(key)
    clock.advance(KEY_LIFE_MS)
    const before = await keyLookups()
    expect((await score(key, query)).statusCode).toBe(200)
    expect(await keyLookups()).toBe(before + 1)
  })

  test.each(WAYS)('looks up a key that is new to the process once, by %s', async (_way, query) => {
    const fresh = await service.createKey(owner)
    const before = await keyLookups()
    expect((await score(fresh, query)).statusCode).toBe(200)
    expect(await keyLookups()).toBe(before + 1)
  })

  // Bodies that end together are the load that the check of the event loop is for.
  test.each(WAYS)(
    'is shed when its body ends in a turn without time, by %s',
    async (_way, query) => {
      const { loop } = service.services.telemetry.shedder
      const asked = vi.spyOn(loop, 'hasTimeForScore').mockReturnValue(true)
      const socket = await sendPart(query, 5)
      await expect.poll(() => asked.mock.calls.length).toBeGreaterThan(0)
      asked.mockReturnValue(false)
      socket.write(BODY.slice(-5))
      const [response] = (await once(socket, 'data')) as string[]
      socket.destroy()
      expect(response).toMatch(/^HTTP\/1\.1 503 .*"error":"unavailable"/s)
    },
  )

  // To parse a large body takes longer than to score it: a refusal after that helps nobody.
  test('is shed before a large body is parsed', async () => {
    const { shedder } = service.services.telemetry
    const asked = vi.spyOn(shedder.loop, 'hasTimeForScore').mockReturnValue(true)
    const notJson = '{'.repeat(100_000)
    const socket = await sendPart('?lang=en', 5, notJson)
    await expect.poll(() => shedder.bodies.heldBytes).toBe(notJson.length)
    asked.mockReturnValue(false)
    socket.write(notJson.slice(-5))
    const [response] = (await once(socket, 'data')) as string[]
    expect(response).toMatch(/^HTTP\/1\.1 503 .*"error":"unavailable"/s)
    socket.destroy()
    await expect.poll(() => shedder.bodies.heldBytes).toBe(0)
  })

  test.each(WAYS)(
    'is observed when its client hangs up amid the body, by %s',
    async (_way, query) => {
      const observed = () =>
        metric('request_duration_seconds_count{operation="scoring.score",status="400"}')
      const before = await observed()
      const { loop } = service.services.telemetry.shedder
      const asked = vi.spyOn(loop, 'hasTimeForScore')
      const socket = await sendPart(query, 5)
      await expect.poll(() => asked.mock.calls.length).toBeGreaterThan(0)
      socket.resetAndDestroy()
      await expect.poll(observed).toBe(before + 1)
    },
  )

  // A key that was revoked while the body was on its way scores nothing.
  test.each(WAYS)('is proven again when its body took long, by %s', async (_way, query) => {
    const { shedder } = service.services.telemetry
    const { keys } = service.services
    const asked = vi.spyOn(shedder.loop, 'hasTimeForScore')
    for (const isRevoked of [false, true]) {
      asked.mockClear()
      const socket = await sendPart(query, 5)
      await expect.poll(() => asked.mock.calls.length).toBeGreaterThan(0)
      clock.advance(1_000)
      const before = await keyLookups()
      if (isRevoked) {
        vi.spyOn(keys, 'findHeldCaller').mockReturnValue(null)
        vi.spyOn(keys, 'findCaller').mockReturnValue(null)
      }
      socket.write(BODY.slice(-5))
      const [response] = (await once(socket, 'data')) as string[]
      socket.destroy()
      expect(response).toMatch(isRevoked ? /^HTTP\/1\.1 401 / : /^HTTP\/1\.1 200 /)
      if (!isRevoked) expect(await keyLookups()).toBe(before + 1)
    }
  })

  test('is refused alike on each way, and counted', async () => {
    const { shedder } = service.services.telemetry
    const asked = vi.spyOn(shedder.loop, 'hasTimeForScore').mockReturnValue(false)
    const caller = await service.services.keys.findCaller(key)
    const { port } = service.app.server.address() as AddressInfo
    const ask = async (query: string, further: string) => {
      const before = shedder.shed.event_loop
      const socket = connect(port, '127.0.0.1').setEncoding('utf8')
      const head = `POST /v1/score/${slug}${query} HTTP/1.1\r\nhost: x\r\n${further}`
      const facts = `authorization: Bearer ${key}\r\ncontent-type: application/json\r\n`
      socket.write(`${head}${facts}content-length: ${BODY.length}\r\n\r\n${BODY}`)
      const [response = ''] = (await once(socket, 'data')) as string[]
      socket.destroy()
      expect(shedder.shed.event_loop).toBe(before + 1)
      expect(asked).toHaveBeenLastCalledWith(caller?.teamId)
      return response
        .replace(/req_\w+/g, 'ID')
        .replace(/(remaining|date): .*/gi, '$1')
        .split('\r\n')
    }
    const bySocket = await ask('', '')
    expect(bySocket[0]).toBe('HTTP/1.1 503 Service Unavailable')
    expect(bySocket).toContain('retry-after: 1')
    const byNode = await ask('', 'te: trailers\r\n')
    const byFastify = await ask('?lang=en', '')
    expect(new Set(byNode)).toEqual(new Set(bySocket))
    expect(new Set(byFastify)).toEqual(new Set(bySocket))
    const batch = { records: [{ income: 1200 }] }
    await service.call({ url: `/v1/score/${slug}/batch`, token: key, body: batch })
    expect(asked).toHaveBeenLastCalledWith(null)
  })
})
