import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const BODY = JSON.stringify({ records: [{ income: 1 }] })
/** More than a request may send after it was refused. */
const CHUNKS = 60_000

// The parser takes a microsecond for a chunk of one byte, for which no budget of bytes has an eye.
describe.each(backends.slice(0, 1))('bodies in many chunks, on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  let port: number
  let path: string

  beforeAll(async () => {
    const { slug } = await team.deploy(card([plainFeature('income')]))
    path = `/v1/score/${slug}/batch`
    await service.app.listen({ port: 0, host: '127.0.0.1' })
    port = (service.app.server.address() as AddressInfo).port
  })

  /** Sends the beginning of a request, and what follows. */
  async function open(key: string, body: string, further = '') {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    // The service may end the connection while bytes are under way.
    socket.on('error', () => undefined)
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
    let answer = ''
    socket.on('data', (bytes) => {
      answer += bytes
    })
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`
    socket.write(
      `${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n${further}\r\n${body}`,
    )
    await closed
    return answer
  }

  test('chunks of a usual size are scored', async () => {
    const answer = await open(team.key, inChunks(BODY.match(/.{1,10}/g) ?? []) + LAST, CLOSE)
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('a body in thousands of single bytes is refused, with the reason', async () => {
    const answer = await open(team.key, inChunks([...BODY.padEnd(12_000)]) + LAST, CLOSE)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('the body comes in too many chunks')
  })

  test.each([
    ['a score', () => team.key],
    ['an unknown key', () => 'sk_unknown'],
  ])('a connection ends amid endless chunks of %s', async (_, key) => {
    await open(key(), inChunks(Array(CHUNKS).fill(' ')))
  })
})

const CLOSE = 'Connection: close\r\n'
const LAST = '0\r\n\r\n'

function inChunks(chunks: readonly string[]): string {
  return chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')
}
