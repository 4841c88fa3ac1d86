import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import Fastify from 'fastify'
import { expect, onTestFinished, test, vi } from 'vitest'
import { patienceMs, sendChunks } from '../../../src/http/text-stream.ts'

const CHUNK = 'x'.repeat(1024 * 1024)
const CHUNKS = 64
const HEADERS = { 'content-type': 'text/plain' }

/** A service whose one answer is 64 MiB, and what became of it. */
async function serving() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const state = { made: 0, isEnded: false }
  async function* chunks() {
    try {
      for (; state.made < CHUNKS; state.made++) yield CHUNK
    } finally {
      state.isEnded = true
    }
  }
  const app = Fastify()
  app.decorateRequest('span', null)
  app.get('/', (_request, reply) =>
    sendChunks(reply, chunks(), { what: 'a test', headers: HEADERS }),
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(async () => {
    vi.useRealTimers()
    await app.close()
  })
  const { port } = app.server.address() as AddressInfo
  const client = connect(port, '127.0.0.1')
  client.on('error', () => {})
  onTestFinished(() => void client.destroy())
  client.write('GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n')
  return { client, state }
}

// A reader that stalls keeps its place, and a connection to the database.
test('an answer whose reader stalls breaks off, and ends what makes it', async () => {
  const { client, state } = await serving()
  client.pause()
  let seen = -1
  let looks = 0
  // A busy machine can hold the sending up for a moment.
  const hasStalled = () => {
    looks = state.made > 0 && state.made === seen ? looks + 1 : 0
    seen = state.made
    return looks >= 5
  }
  await expect.poll(hasStalled, { interval: 200 }).toBe(true)
  expect(state.made).toBeLessThan(CHUNKS)
  vi.advanceTimersByTime(patienceMs(CHUNK) - 1)
  expect(state.isEnded).toBe(false)
  vi.advanceTimersByTime(1)
  await expect.poll(() => state.isEnded).toBe(true)
})

test('a reader that keeps reading gets all of it', async () => {
  const { client, state } = await serving()
  let bytes = 0
  client.on('data', (part) => {
    bytes += part.length
    // The time of a patient reader passes, but never that of one chunk.
    vi.advanceTimersByTime(100)
  })
  await once(client, 'end')
  expect(bytes).toBeGreaterThan(CHUNKS * CHUNK.length)
  expect(state.isEnded).toBe(true)
})
