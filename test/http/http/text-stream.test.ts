import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { sendChunks } from '../../../src/http/text-stream.ts'

// Exports have few slots: one that is not given back stops them for all teams.
test('a body whose client has gone before the first chunk is ended', async () => {
  const started = Promise.withResolvers<void>()
  const gone = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<string>()
  async function* chunks() {
    try {
      started.resolve()
      await gone.promise
      yield 'first'
      yield 'second'
    } finally {
      ended.resolve('ended')
    }
  }
  const app = fastify()
  app.get('/', (_, reply) => sendChunks(reply, chunks(), { what: 'a text', headers: {} }))
  await app.listen({ port: 0, host: '127.0.0.1' })
  try {
    const seen = Promise.withResolvers<void>()
    app.server.once('connection', (socket) => socket.once('close', () => seen.resolve()))
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await started.promise
    socket.destroy()
    await seen.promise
    gone.resolve()
    expect(await ended.promise).toBe('ended')
  } finally {
    await app.close()
  }
})
