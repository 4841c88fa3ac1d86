import { type AddressInfo, connect } from 'node:net'
import Fastify from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { expect, onTestFinished, test, vi } from 'vitest'
import { LoadShedder } from '../../../src/http/overload/load-shedder.ts'
import { readingMsMax, sheddingPlugin } from '../../../src/http/overload/plugin.ts'
import { EventLoopWatch, threadClock } from '../../../src/platform/event-loop.ts'

const MIB = 1024 * 1024
const LARGE = 'x'.repeat(24 * MIB)
const SMALL = 'x'.repeat(60 * 1024)
const HEAD = 'HTTP/1.1\r\nHost: test\r\n\r\n'
const BUDGET = 256 * MIB

/** A service with a large and a small answer, and what it counts of them. */
async function serving() {
  const shedder = new LoadShedder(new EventLoopWatch(threadClock))
  const app = Fastify()
  const sent: Buffer[] = []
  app.addHook('onRequest', (_request, { raw }, done) => {
    const end = raw.end.bind(raw) as (...args: unknown[]) => typeof raw
    raw.end = (...args: unknown[]) => {
      if (Buffer.isBuffer(args[0])) sent.push(args[0])
      return end(...args)
    }
    done()
  })
  app.decorateRequest('span', null)
  await app.register(fastifyPlugin(async () => undefined, { name: 'auth' }))
  await app.register(sheddingPlugin, { shedder })
  const file = { 'content-disposition': 'attachment; filename="a"' }
  app.get('/large', (_request, reply) => reply.headers(file).send(LARGE))
  app.post('/large', (_request, reply) => reply.send(LARGE))
  app.get('/small', (_request, reply) => reply.send(SMALL))
  await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  const { port } = app.server.address() as AddressInfo
  return { shedder, port, sent, url: `http://127.0.0.1:${port}` }
}

/** A client that asks and reads nothing. */
async function unread(port: number) {
  const client = connect(port, '127.0.0.1').pause()
  client.on('error', () => {})
  onTestFinished(() => void client.destroy())
  client.write(`GET /large ${HEAD}`)
  return client
}

test('a large answer is counted until its reader has it or has gone', async () => {
  const { shedder, port, url } = await serving()
  const held = () => shedder.answers.heldBytes
  const client = await unread(port)
  await expect.poll(held).toBe(LARGE.length)
  client.destroy()
  await expect.poll(held).toBe(0)
  expect(await (await fetch(`${url}/large`)).text()).toBe(LARGE)
  await expect.poll(held).toBe(0)
})

// As garbage, they had V8 collect the whole heap of the service again and again.
test('the bytes of a large text are freed once they are sent', async () => {
  const { url, sent } = await serving()
  expect(await (await fetch(`${url}/large`)).text()).toBe(LARGE)
  await expect.poll(() => sent.map(({ length }) => length)).toEqual([0])
})

test('an answer whose reader is too slow ends, and is counted no more', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { shedder, port } = await serving()
  await unread(port)
  const held = () => shedder.answers.heldBytes
  await expect.poll(held).toBe(LARGE.length)
  vi.advanceTimersByTime(readingMsMax(LARGE.length) - 1)
  expect(held()).toBe(LARGE.length)
  vi.advanceTimersByTime(1)
  await expect.poll(held).toBe(0)
})

test('while too many large answers wait, a GET of another is refused, and all else is answered', async () => {
  const { shedder, url } = await serving()
  const unsent = shedder.answers.take(BUDGET, null)
  const refused = await fetch(`${url}/large`)
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(refused.headers.get('content-disposition')).toBeNull()
  expect(await refused.json()).toMatchObject({ error: 'unavailable' })
  expect(shedder.shed.answer_memory).toBe(1)
  // What was done is told: a caller who got 503 would do it again.
  expect(await (await fetch(`${url}/large`, { method: 'POST' })).text()).toBe(LARGE)
  expect(await (await fetch(`${url}/small`)).text()).toBe(SMALL)
  unsent.release()
  expect((await fetch(`${url}/large`)).status).toBe(200)
})
