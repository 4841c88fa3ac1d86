import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JSON_TYPE } from '../../../src/http/reply.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import type { Exchange } from '../../../src/scoring/fast-path/exchange.ts'
import { takeHandedOver } from '../../../src/scoring/fast-path/fallback.ts'
import { readScoresFrom } from '../../../src/scoring/fast-path/score-connection.ts'
import { readScoreHead } from '../../../src/scoring/fast-path/score-head.ts'
import { readScoreUrl } from '../../../src/scoring/score-request.ts'
import { byteStream, KEY, SLUG } from '../../support/servers/http-streams.ts'
import { MemorySocket } from '../../support/servers/memory-socket.ts'

const STREAMS = Number(process.env['SCORELINE_TEST_STREAMS'] ?? 3_000)
const BODY_BYTES_MAX = 64 * 1024
const QUOTA = 60

/** What a server took for requests. Those of a pipeline may end in another order. */
type Seen = string[]

interface Reading {
  readonly seen: Seen
  /** Requests that the fast path took and then left to Node. */
  fallenBack: number
  /** Fallbacks that Node's server found for the request that they belong to. */
  resumed: number
  /** Requests that the fast path answered. */
  answered: number
}

/** Some requests are answered in a later turn, so that more bytes come before. */
function isLate(body: Buffer): boolean {
  return body.length % 2 === 1
}

/** Some requests are left to Node after they were taken. */
function isRefused(body: Buffer): boolean {
  return body.toString().includes('income')
}

/** An answer that says what was read. */
function formatText(facts: string): string {
  return JSON.stringify({ read: createHash('sha256').update(facts).digest('hex') })
}

/** A server that answers everything, by Node alone. */
function nodeServer(reading: Reading): Server {
  const { seen } = reading
  const server = createServer(
    { requireHostHeader: false, keepAliveTimeout: 75_000 },
    (request: IncomingMessage, response: ServerResponse) => {
      const { method, url = '', rawHeaders, socket } = request
      const asked = method === 'POST' ? readScoreUrl(url) : null
      const head = asked === null ? null : readScoreHead(asked, rawHeaders, BODY_BYTES_MAX)
      if (takeHandedOver(socket as Socket, head)?.fallback) reading.resumed++
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = Buffer.concat(chunks)
        const answer = () => {
          const facts = readFacts(url, body)
          seen.push(facts)
          const text = formatText(facts)
          response.writeHead(200, {
            'x-request-id': 'req',
            'x-ratelimit-limit': QUOTA,
            'x-ratelimit-remaining': 1,
            'content-type': JSON_TYPE,
            'content-length': Buffer.byteLength(text),
          })
          response.end(text)
        }
        if (isLate(body)) setImmediate(answer)
        else answer()
      })
    },
  )
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  return server
}

function readFacts(url: string, body: Buffer): string {
  return `${url} ${body.toString('latin1')}`
}

/** The same server behind the fast path. */
function fastServer(reading: Reading): Server {
  const { seen } = reading
  const server = nodeServer(reading)
  const take = (exchange: Exchange) => {
    const { head } = exchange
    if (head.keySecret !== KEY) return false
    const body = exchange.readBody()
    if (body === null) throw new Error('a request was taken before its body was complete')
    const bytes = Buffer.from(body)
    expect(bytes.length).toBe(head.bodyBytes)
    const finish = () => {
      if (isRefused(bytes)) {
        reading.fallenBack++
        exchange.fallBack({
          requestId: 'req',
          receivedAtMs: 0,
          caller: null,
          keyLookup: null,
          quotaDecision: null,
          body: bytes,
          failure: null,
          answered: null,
          span: null,
        })
        return
      }
      reading.answered++
      const facts = readFacts(`/v1/score/${head.slug}`, bytes)
      seen.push(facts)
      exchange.answer(
        { requestId: 'req', quota: QUOTA, remaining: 1, isNotKept: false, isShed: false },
        formatText(facts),
      )
    }
    if (isLate(bytes)) setImmediate(finish)
    else finish()
    return true
  }
  readScoresFrom(server, { bodyBytesMax: BODY_BYTES_MAX, clock: systemClock, take })
  return server
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Sends the chunks to a server, so many turns apart, and waits until it is silent. */
async function exchange(
  makeServer: (reading: Reading) => Server,
  chunks: readonly Buffer[],
  turns = 1,
): Promise<Reading & { sent: string; isBroken: boolean }> {
  const reading: Reading = { seen: [], fallenBack: 0, resumed: 0, answered: 0 }
  const server = makeServer(reading)
  const socket = new MemorySocket()
  server.emit('connection', socket)
  for (const chunk of chunks) {
    if (!socket.destroyed) socket.push(chunk)
    for (let n = 0; n < turns; n++) await turn()
  }
  for (let n = 0; n < 6; n++) await turn()
  const sent = socket.sent.toString('latin1').replaceAll(/Date: [^\r]+/g, 'Date: now')
  const isBroken = socket.destroyed
  socket.destroy()
  return { ...reading, sent, isBroken }
}

// The way from a socket and Node's own parser must never disagree about where a request ends.
test('any stream of bytes gets the same answers with the fast path as from Node alone', async () => {
  const total = { answered: 0, resumed: 0, fallenBack: 0, seen: 0 }
  await fc.assert(
    fc.asyncProperty(byteStream, fc.constantFrom(1, 4), async (chunks, turns) => {
      const alone = await exchange(nodeServer, chunks, turns)
      const fast = await exchange(fastServer, chunks, turns)
      expect(fast.isBroken).toBe(alone.isBroken)
      if (!alone.isBroken) {
        expect(fast.seen.toSorted()).toEqual(alone.seen.toSorted())
        expect(fast.sent).toBe(alone.sent)
      } else {
        // Bytes that are not HTTP end a connection, with the requests before them whose answers are
        // not there yet. Which these are depends for Node, too, on how the bytes come.
        expect(alone.seen).toEqual(expect.arrayContaining(fast.seen))
      }
      expect(fast.resumed).toBe(fast.fallenBack)
      total.answered += fast.answered
      total.resumed += fast.resumed
      total.fallenBack += fast.fallenBack
      total.seen += fast.seen.length
    }),
    { numRuns: STREAMS },
  )
  // Without these the fast path could have left everything to Node.
  expect(total.answered).toBeGreaterThan(STREAMS / 3)
  expect(total.resumed).toBeGreaterThan(STREAMS / 20)
  expect(total.seen).toBeGreaterThan(total.answered + total.resumed)
}, 3_600_000)

const HEAD = `POST /v1/score/${SLUG} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\n`

test.each([
  ['a usual score', [`${HEAD}content-length: 2\r\n\r\n{}`], 1],
  ['a body that comes later', [`${HEAD}content-length: 2\r\n\r\n`, '{', '}'], 1],
  ['two scores, one after the other', Array(2).fill(`${HEAD}content-length: 2\r\n\r\n{}`), 2],
  [
    'lengths of other digits',
    [2, 10, 9, 100].map((n) => `${HEAD}content-length: ${n}\r\n\r\n{${' '.repeat(n - 2)}}`),
    4,
  ],
  ['two scores at once', [`${HEAD}content-length: 2\r\n\r\n{}`.repeat(2)], 0],
  ['a head in two parts', [HEAD, 'content-length: 2\r\n\r\n{}'], 0],
  [
    'a head of more than 8 KiB',
    [`${HEAD}x: ${'x'.repeat(8192)}\r\ncontent-length: 2\r\n\r\n{}`],
    0,
  ],
  ['more than 200 headers', [`${HEAD}${'a:b\r\n'.repeat(198)}content-length: 2\r\n\r\n{}`], 0],
  ['a length that begins with 0', [`${HEAD}content-length: 02\r\n\r\n{}`], 0],
  ['a body of more than 64 KiB', [`${HEAD}content-length: 65537\r\n\r\n{`], 0],
])('%s: the fast path answers as many as it should', async (_what, chunks, answered) => {
  const reading = await exchange(
    fastServer,
    chunks.map((chunk: string) => Buffer.from(chunk)),
  )
  expect(reading.answered).toBe(answered)
})

describe('a connection', () => {
  const usual = `${HEAD}content-length: 2\r\n\r\n{}`

  function connected(): { server: Server; socket: MemorySocket; reading: Reading } {
    const reading: Reading = { seen: [], fallenBack: 0, resumed: 0, answered: 0 }
    const server = fastServer(reading)
    const socket = new MemorySocket()
    server.emit('connection', socket)
    return { server, socket, reading }
  }

  // The first request of a new connection may be on its way, and Node waits for it, too.
  test('is idle for a closing server once it has answered', async () => {
    const fresh = connected()
    const used = connected()
    used.socket.push(usual)
    await turn()
    for (const { server } of [fresh, used]) server.closeIdleConnections()
    await turn()
    expect(fresh.socket.destroyed).toBe(false)
    expect(used.socket.destroyed).toBe(true)
    fresh.server.closeAllConnections()
    expect(fresh.socket.destroyed).toBe(true)
  })

  test('of a client that has ended its side gets the answer, and ends', async () => {
    const { socket, reading } = connected()
    socket.push(`${HEAD}content-length: 3\r\n\r\n{ }`)
    socket.push(null)
    for (let n = 0; n < 4; n++) await turn()
    expect(reading.answered).toBe(1)
    expect(socket.sent.toString()).toContain('HTTP/1.1 200 OK')
    expect(socket.writableFinished).toBe(true)
  })

  test('whose client ends amid a body gets the refusal that Node gives', async () => {
    const { server, socket } = connected()
    const codes: unknown[] = []
    server.on('clientError', (error: Error & { code?: string }) => codes.push(error.code))
    socket.push(`${HEAD}content-length: 3\r\n\r\n{`)
    await turn()
    socket.push(null)
    for (let n = 0; n < 4; n++) await turn()
    expect(codes).toEqual(['HPE_INVALID_EOF_STATE'])
  })

  test('stays in the hands of the server while a client does not read its last answer', async () => {
    const { server, socket } = connected()
    socket._write = () => undefined
    socket.push(usual)
    socket.push(null)
    for (let n = 0; n < 4; n++) await turn()
    expect(socket.destroyed).toBe(false)
    server.closeAllConnections()
    expect(socket.destroyed).toBe(true)
  })

  test('takes no second answer to a request for the answer to the next', async () => {
    const exchanges: Exchange[] = []
    const server = createServer()
    const take = (exchange: Exchange) => exchanges.push(exchange) > 0
    readScoresFrom(server, { bodyBytesMax: BODY_BYTES_MAX, clock: systemClock, take })
    const socket = new MemorySocket()
    server.emit('connection', socket)
    const answer = { requestId: 'req', quota: QUOTA, remaining: 1, isNotKept: false, isShed: false }
    socket.push(usual)
    await turn()
    exchanges[0]?.answer(answer, '"first"')
    socket.push(usual)
    await turn()
    exchanges[0]?.answer(answer, '"first again"')
    exchanges[1]?.answer(answer, '"second"')
    const texts = socket.sent.toString().match(/"[^"]+"/g)
    expect(texts).toEqual(['"first"', '"second"'])
  })
})
