import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { signalWhileConnected } from '../../../src/http/connected.ts'
import { runInTurns } from '../../../src/platform/turn-taker.ts'

/** A service whose only route works until its client hangs up or `done` says so. */
async function serving(done: () => boolean) {
  const app = fastify()
  onTestFinished(() => app.close())
  const started = Promise.withResolvers<void>()
  const signals: AbortSignal[] = []
  const ends: string[] = []
  function* work() {
    started.resolve()
    while (!done()) yield
    return 'done'
  }
  app.get('/', async (_request, reply) => {
    const signal = signalWhileConnected(reply)
    signals.push(signal)
    const end = await runInTurns(work(), signal).catch((error: Error) => error.message)
    ends.push(end)
    return { end }
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return { port, started: started.promise, signals, ends }
}

test('work in steps ends when its client has hung up', async () => {
  const { port, started, ends } = await serving(() => false)
  const client = connect(port, '127.0.0.1')
  await once(client, 'connect')
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await started
  client.destroy()
  await expect.poll(() => ends).toEqual(['the client has hung up'])
})

test('a client who hangs up after the answer ends nothing', async () => {
  const { port, signals, ends } = await serving(() => true)
  const response = await fetch(`http://127.0.0.1:${port}`, { headers: { connection: 'close' } })
  expect(await response.json()).toEqual({ end: 'done' })
  expect(ends).toEqual(['done'])
  expect(signals.map(({ aborted }) => aborted)).toEqual([false])
})
